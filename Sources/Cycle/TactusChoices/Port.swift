// SPDX-License-Identifier: GPL-2.0-or-later

/// The ports at which sound, clocks and gates leave tactus and at which MIDI comes in. `PerPort` holds a
/// value for each port.
public enum Port: Int, Hashable, Sendable, BitwiseCopyable {
  case click1, click2, clock, pulse, run, control
  /// `jack` is no port of ours. It stands for the sound card's outputs, through which other JACK clients are
  /// heard. The bars and beats that we show to those clients, and the times of launches, are computed for
  /// these outputs.
  case jack

  /// The port with this number; for code that must not allocate a list of ports.
  @_noLocks @_noAllocation
  public static func number(_ number: Int) -> Port? { Port(rawValue: number) }

  /// The port whose offset also holds for this port, as long as this port has no offset of its own.
  @inlinable public var follows: Port? {
    switch self {
    case .click2: .click1
    case .run: .pulse
    case .click1, .clock, .pulse, .control, .jack: nil
    }
  }
}

/// A value for each port. The functions are inlined, so that the compiler sees that they neither allocate nor
/// lock.
public struct PerPort<Value: BitwiseCopyable>: BitwiseCopyable {
  @usableFromInline var values: InlineArray<7, Value>

  @inlinable
  public init(repeating value: Value) { values = InlineArray(repeating: value) }

  @inlinable
  public subscript(port: Port) -> Value {
    get { values[port.rawValue] }
    set { values[port.rawValue] = newValue }
  }

  @inlinable
  public mutating func forEach(_ body: (inout Value) -> Void) {
    for number in values.indices { body(&values[number]) }
  }
}

extension PerPort: Sendable where Value: Sendable {}

extension PerPort: ExpressibleByDictionaryLiteral where Value: ExpressibleByIntegerLiteral {
  /// Makes values for all ports. Ports that are not named get 0.
  public init(dictionaryLiteral elements: (Port, Value)...) {
    self.init(repeating: 0)
    for (port, value) in elements { self[port] = value }
  }
}

extension PerPort: Equatable where Value: Equatable {
  @inlinable
  public static func == (left: PerPort, right: PerPort) -> Bool {
    for number in left.values.indices where left.values[number] != right.values[number] { return false }
    return true
  }
}

extension PerPort: Hashable where Value: Hashable {
  public func hash(into hasher: inout Hasher) {
    for number in values.indices { hasher.combine(values[number]) }
  }
}
