// SPDX-License-Identifier: GPL-2.0-or-later
public import Synchronization

/// The most recent value, from one writer to one reader. Neither thread ever waits, and a read is never torn.
///
/// There are three slots: the writer's, the reader's, and a middle slot. Publishing swaps the writer's slot
/// with the middle slot, and reading swaps the reader's. So neither thread can touch the slot that the other
/// uses.
@safe public struct Latest<Value: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
  /// The index of the middle slot, plus `fresh` if the writer put it there last.
  @usableFromInline let between = Atomic<UInt8>(1)
  @usableFromInline let slots: UnsafeMutablePointer<Value>
  /// Two cache lines. The first has the writer's slot index, the second the reader's slot index and then
  /// `readings`.
  @usableFromInline let ends: UnsafeMutablePointer<UInt8>

  @usableFromInline static var fresh: UInt8 { @inlinable get { 4 } }
  @usableFromInline static var cacheLine: Int { @inlinable get { 64 } }

  /// Makes the slots. The reader gets `value` until the writer publishes another value. [any]
  @inlinable
  public init(_ value: Value) {
    unsafe slots = .allocate(capacity: 3)
    unsafe slots.initialize(repeating: value, count: 3)
    unsafe ends = .allocate(capacity: 2 * Self.cacheLine)
    unsafe ends.initialize(repeating: 0, count: 2 * Self.cacheLine)
    unsafe ends[Self.cacheLine] = 2
  }

  @inlinable
  deinit {
    unsafe slots.deallocate()
    unsafe ends.deallocate()
  }

  /// Passes the memory blocks, so that their owner can lock them in RAM. [any]
  public func forEachBlock(_ body: (UnsafeRawBufferPointer) -> Void) {
    unsafe body(UnsafeRawBufferPointer(UnsafeBufferPointer(start: slots, count: 3)))
    unsafe body(UnsafeRawBufferPointer(UnsafeBufferPointer(start: ends, count: 2 * Self.cacheLine)))
  }

  /// Publishes a value, which replaces the one before. [the writer's thread]
  @inlinable
  public func publish(_ value: Value) {
    let mine = unsafe ends[0]
    unsafe slots[Int(mine)] = value
    unsafe ends[0] = between.exchange(mine | Self.fresh, ordering: .acquiringAndReleasing) & 3
  }

  /// The newest published value, or the same value as before if there is no newer value. [the reader's
  /// thread]
  @inlinable
  public func read() -> Value {
    if between.load(ordering: .relaxed) & Self.fresh != 0 {
      unsafe ends[Self.cacheLine + 1] &+= 1
      unsafe ends[Self.cacheLine] =
        between.exchange(ends[Self.cacheLine], ordering: .acquiringAndReleasing) & 3
    }
    return unsafe slots[Int(ends[Self.cacheLine])]
  }

  /// The number of published values that were read; it wraps. While it is unchanged, reads give the same
  /// value. [the reader's thread]
  @inlinable
  public var readings: UInt8 { unsafe ends[Self.cacheLine + 1] }

  /// The newest value if it was published after the last `read` or `readIfNew`; otherwise nil. [the reader's
  /// thread]
  @inlinable
  public func readIfNew() -> Value? {
    between.load(ordering: .relaxed) & Self.fresh == 0 ? nil : read()
  }
}
