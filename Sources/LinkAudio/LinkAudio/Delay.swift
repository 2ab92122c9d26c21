// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAudioPath
internal import LinkBeatMath

extension LinkAudio {
  /// The delay between a channel's beat and its sound.
  public struct Delay: Hashable, Sendable, BitwiseCopyable, Codable, CustomStringConvertible {
    let value: PlayoutDelay

    @_noLocks @_noAllocation
    private init(_ value: PlayoutDelay) {
      self.value = value
    }

    /// A delay that is as short as the network allows, but at least 20 ms, which is enough for a wired
    /// network.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public static var standard: Delay {
      @_noLocks @_noAllocation get { Delay(.standard) }
    }

    /// A delay that is as short as the network allows, but at least `least`, and at most 300 ms plus the
    /// output's latency and two periods. The delay grows at once when audio comes late, and shrinks slowly.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func adaptive(least: Duration) -> Delay { Delay(.adaptive(least: least.microseconds)) }

    /// A constant delay.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func fixed(_ delay: Duration) -> Delay { Delay(.fixed(delay.microseconds)) }

    /// A delay of whole beats: the sound stays in time, but is heard at a later beat of the song. After a
    /// change of tempo, the delay is the same number of beats at the new tempo. If the lane has no room for
    /// the delay, the delay is fewer whole beats, and ``Figures/isDelayShortened`` is true.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public static func beats(_ count: Int) -> Delay { Delay(.beats(count)) }

    /// The delay as text, like "at least 0.02 seconds", "0.03 seconds" or "4 beats".
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var description: String {
      switch value {
      case .adaptive(let least): "at least \(Duration(milliseconds: least / 1000))"
      case .fixed(let delay): "\(Duration(milliseconds: delay / 1000))"
      case .beats(let count): "\(count) beat\(count == 1 ? "" : "s")"
      }
    }

    /// The form that `Codable` reads and writes, like `{"beats":{"count":4}}`.
    enum Saved: Hashable, Codable {
      case adaptive(leastMicroseconds: Int64)
      case fixed(microseconds: Int64)
      case beats(count: Int)
    }

    init(_ saved: Saved) {
      switch saved {
      case .adaptive(let least): self = .adaptive(least: .microseconds(least))
      case .fixed(let delay): self = .fixed(.microseconds(delay))
      case .beats(let count): self = .beats(count)
      }
    }

    var saved: Saved {
      switch value {
      case .adaptive(let least): .adaptive(leastMicroseconds: Int64(saturating: least))
      case .fixed(let delay): .fixed(microseconds: Int64(saturating: delay))
      case .beats(let count): .beats(count: count)
      }
    }

    /// Reads one of the three kinds, like `{"beats":{"count":4}}`.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public init(from decoder: any Decoder) throws { self.init(try Saved(from: decoder)) }

    /// Writes the kind and its whole microseconds or beats.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public func encode(to encoder: any Encoder) throws { try saved.encode(to: encoder) }
  }
}

extension Duration {
  var microseconds: Double { Double(Micros(self).count) }

  init(milliseconds: Double) {
    self = .microseconds(Int64(saturating: milliseconds * 1000))
  }
}
