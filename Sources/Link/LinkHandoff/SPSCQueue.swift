// SPDX-License-Identifier: GPL-2.0-or-later
public import Synchronization

/// A bounded queue from one producer to one consumer, in order. Neither thread ever waits.
///
/// A full queue refuses an element and counts it; the producer decides what to do then.
@safe public struct SPSCQueue<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
  @usableFromInline let head = Atomic<UInt>(0)  // written by the consumer
  @usableFromInline let headLine = InlineArray<15, UInt>(repeating: 0)  // keeps the ends' cache lines apart
  @usableFromInline let tail = Atomic<UInt>(0)  // written by the producer
  @usableFromInline let refusals = Atomic<UInt>(0)
  @usableFromInline let tailLine = InlineArray<14, UInt>(repeating: 0)
  @usableFromInline let slots: UnsafeMutablePointer<Element>
  @usableFromInline let mask: UInt  // the capacity, a power of two, minus one

  /// `capacity` is rounded up to a power of two. The memory is touched here, so that no page fault comes
  /// later. [any]
  @inlinable
  public init(capacity: Int) {
    var size = 1
    while size < capacity && size < 1 << 30 { size <<= 1 }
    unsafe slots = .allocate(capacity: size)
    let bytes = size * MemoryLayout<Element>.stride
    unsafe UnsafeMutableRawPointer(slots).initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    mask = UInt(truncatingIfNeeded: size &- 1)
  }

  @inlinable
  deinit {
    unsafe slots.deallocate()
  }

  public var capacity: Int {
    @inlinable get { Int(truncatingIfNeeded: mask &+ 1) }
  }

  /// The number of elements refused because the queue was full. [any]
  public var refusedCount: UInt {
    @inlinable get { refusals.load(ordering: .relaxed) }
  }

  /// Passes the memory block, so that its owner can lock it in RAM. [any]
  public func forEachBlock(_ body: (UnsafeRawBufferPointer) -> Void) {
    unsafe body(UnsafeRawBufferPointer(UnsafeBufferPointer(start: slots, count: capacity)))
  }

  /// Appends an element. Returns false if the queue is full; then the element is not taken. [the producer's
  /// thread]
  @inlinable
  @discardableResult
  public func push(_ element: Element) -> Bool {
    let end = tail.load(ordering: .relaxed)
    guard end &- head.load(ordering: .acquiring) <= mask else {
      refusals.store(refusals.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
      return false
    }
    unsafe slots[Int(truncatingIfNeeded: end & mask)] = element
    tail.store(end &+ 1, ordering: .releasing)
    return true
  }

  /// The oldest element; nil when empty. [the consumer's thread]
  @inlinable
  public func pop() -> Element? {
    let start = head.load(ordering: .relaxed)
    guard start != tail.load(ordering: .acquiring) else { return nil }
    let element = unsafe slots[Int(truncatingIfNeeded: start & mask)]
    head.store(start &+ 1, ordering: .releasing)
    return element
  }
}
