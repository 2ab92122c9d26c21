// SPDX-License-Identifier: GPL-2.0-or-later
public import Synchronization

/// A bounded queue of memory blocks, from one producer to one consumer, in order. Neither thread ever waits,
/// and nothing is copied: the producer writes into a reserved slot, and the consumer reads it in place.
///
/// This queue is for data too large or too variable in size for an `SPSCQueue`: audio. A full queue refuses a
/// slot and counts it; the producer decides what to do then.
@safe public struct SlotQueue: ~Copyable, @unchecked Sendable {
  @usableFromInline let head = Atomic<UInt>(0)  // written by the consumer
  @usableFromInline let headLine = InlineArray<15, UInt>(repeating: 0)  // keeps the ends' cache lines apart
  @usableFromInline let tail = Atomic<UInt>(0)  // written by the producer
  @usableFromInline let refusals = Atomic<UInt>(0)
  @usableFromInline let tailLine = InlineArray<14, UInt>(repeating: 0)
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let mask: UInt  // the number of slots, a power of two, minus one
  /// The bytes from one slot to the next: whole cache lines, so that the two ends never share a cache line.
  @usableFromInline let stride: Int
  /// The usable bytes of a slot.
  public let slotBytes: Int

  @usableFromInline static var cacheLine: Int { @inlinable get { 64 } }

  /// `slots` is rounded up to a power of two. The memory is touched here, so that no page fault comes later.
  /// [any]
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

  /// The number of slots refused because the queue was full. [any]
  public var refusedCount: UInt {
    @inlinable get { refusals.load(ordering: .relaxed) }
  }

  /// The number of slots that can be read. Another thread may change this number at any time. [any]
  public var count: Int {
    @inlinable get {
      let start = head.load(ordering: .acquiring)
      return Int(truncatingIfNeeded: tail.load(ordering: .acquiring) &- start)
    }
  }

  /// Passes the memory block, so that its owner can lock it in RAM. [any]
  public func forEachBlock(_ body: (UnsafeRawBufferPointer) -> Void) {
    unsafe body(UnsafeRawBufferPointer(start: memory, count: capacity * stride))
  }

  /// The next slot to write, or the same slot as before until it is committed; nil when the queue is full.
  /// [the producer's thread]
  @inlinable
  public func reserve() -> UnsafeMutableRawBufferPointer? {
    let end = tail.load(ordering: .relaxed)
    guard end &- head.load(ordering: .acquiring) <= mask else {
      refusals.store(refusals.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
      return nil
    }
    return unsafe UnsafeMutableRawBufferPointer(start: slot(end), count: slotBytes)
  }

  /// Hands over the reserved slot. Does nothing if the queue is full: then no slot is reserved. [the
  /// producer's thread]
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

  /// Releases the oldest slot for writing. If the queue is empty it does nothing. [the consumer's thread]
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
