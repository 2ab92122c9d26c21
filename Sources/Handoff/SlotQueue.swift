// SPDX-License-Identifier: GPL-2.0-or-later
public import Synchronization

/// A bounded queue of blocks of memory, from one producer to one consumer, in order. Neither ever waits, and nothing is
/// copied: the producer writes into the slot that it reserves, the consumer reads it where it lies.
///
/// For what is too large, or too varied in size, to be an element of an `SPSCQueue`: audio. A full queue refuses, and counts
/// what it refused; the producer decides what that means.
@safe public struct SlotQueue: ~Copyable, @unchecked Sendable {
  @usableFromInline let head = Atomic<UInt>(0)  // written by the consumer
  @usableFromInline let headLine = InlineArray<15, UInt>(repeating: 0)  // keeps the ends' cache lines apart
  @usableFromInline let tail = Atomic<UInt>(0)  // written by the producer
  @usableFromInline let refusals = Atomic<UInt>(0)
  @usableFromInline let tailLine = InlineArray<14, UInt>(repeating: 0)
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let mask: UInt  // the number of slots, a power of two, minus one
  /// From one slot to the next: whole cache lines, so that the two ends never share one.
  @usableFromInline let stride: Int
  /// What a slot holds.
  public let slotBytes: Int

  @usableFromInline static var cacheLine: Int { @inlinable get { 64 } }

  /// `slots` is raised to a power of two. The memory is touched before it matters. [any]
  @inlinable
  public init(slots: Int, bytes: Int) {
    var size = 1
    while size < slots && size < 1 << 20 { size <<= 1 }
    slotBytes = min(max(0, bytes), 1 << 24)
    stride = max(1, (slotBytes + Self.cacheLine - 1) / Self.cacheLine) * Self.cacheLine
    unsafe memory = .allocate(byteCount: size * stride, alignment: Self.cacheLine)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size * stride)
    mask = UInt(truncatingIfNeeded: size &- 1)
  }

  @inlinable
  deinit {
    unsafe memory.deallocate()
  }

  public var capacity: Int {
    @inlinable get { Int(truncatingIfNeeded: mask &+ 1) }
  }

  /// How often a slot was refused because the queue was full. [any]
  public var refusedCount: UInt {
    @inlinable get { refusals.load(ordering: .relaxed) }
  }

  /// How many slots wait to be read; the other end may be changing it. [any]
  public var count: Int {
    @inlinable get {
      let start = head.load(ordering: .acquiring)
      return Int(truncatingIfNeeded: tail.load(ordering: .acquiring) &- start)
    }
  }

  /// The block of memory behind it, for its owner to keep it from being paged out. [any]
  public func forEachBlock(_ body: (UnsafeRawBufferPointer) -> Void) {
    unsafe body(UnsafeRawBufferPointer(start: memory, count: capacity * stride))
  }

  /// The next slot to write; the same one again until it is committed. Nil when full. [the producer's thread]
  @inlinable
  public func reserve() -> UnsafeMutableRawBufferPointer? {
    let end = tail.load(ordering: .relaxed)
    guard end &- head.load(ordering: .acquiring) <= mask else {
      refusals.store(refusals.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
      return nil
    }
    return unsafe UnsafeMutableRawBufferPointer(start: slot(end), count: slotBytes)
  }

  /// Hands over the slot that was reserved. Without one it does nothing. [the producer's thread]
  @inlinable
  public func commit() {
    let end = tail.load(ordering: .relaxed)
    guard end &- head.load(ordering: .acquiring) <= mask else { return }
    tail.store(end &+ 1, ordering: .releasing)
  }

  /// The oldest slot, to be read until it is released; nil when empty. [the consumer's thread]
  @inlinable
  public func front() -> UnsafeRawBufferPointer? {
    let start = head.load(ordering: .relaxed)
    guard start != tail.load(ordering: .acquiring) else { return nil }
    return unsafe UnsafeRawBufferPointer(start: slot(start), count: slotBytes)
  }

  /// Gives the oldest slot back to be written. Of an empty queue it does nothing. [the consumer's thread]
  @inlinable
  public func release() {
    let start = head.load(ordering: .relaxed)
    guard start != tail.load(ordering: .acquiring) else { return }
    head.store(start &+ 1, ordering: .releasing)
  }

  @inlinable
  func slot(_ number: UInt) -> UnsafeMutableRawPointer {
    unsafe memory + Int(truncatingIfNeeded: number & mask) &* stride
  }
}
