// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

/// The results of one cycle: the ports' buffers, MIDI events in order of time, a report, and proposals.
/// [audio]
public struct Outputs: ~Copyable {
  private var buffers = PerPort(repeating: AudioBuffer.none)
  public var events = MIDIEvents()
  public var report = Report()
  /// The proposals for changes of the session. The reader removes each proposal that it takes; all others
  /// stay.
  public var proposals = Proposals()

  public init() {}

  public subscript(port: Port) -> AudioBuffer {
    @_noLocks @_noAllocation get { buffers[port] }
    @_noLocks @_noAllocation set { buffers[port] = newValue }
  }

  mutating func clear() {
    buffers.forEach { $0.clear() }
    events.removeAll()
    report = Report()
  }
}

/// The frames of a port in this cycle. If `start` is nil, the port does not exist.
public struct AudioBuffer: BitwiseCopyable {
  let start: UnsafeMutablePointer<Float>?
  let count: Int

  @_noLocks @_noAllocation
  public init(_ start: UnsafeMutablePointer<Float>?, frames: UInt32) {
    self.start = start
    count = start == nil ? 0 : Int(frames)
  }

  public static var none: AudioBuffer { AudioBuffer(nil, frames: 0) }

  func clear() { fill(with: 0) }

  func fill(with value: Float) {
    guard let start else { return }
    start.update(repeating: value, count: count)
  }

  func fill(_ range: Range<Int>, with value: Float) {
    guard let start else { return }
    let clamped = range.clamped(to: 0..<count)
    (start + clamped.lowerBound).update(repeating: value, count: clamped.count)
  }
}
