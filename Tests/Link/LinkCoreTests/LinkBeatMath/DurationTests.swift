// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@Suite struct DurationTests {
  @Test func `a duration is rounded to microseconds, halves away from zero`() {
    #expect(Micros(.milliseconds(5)) == Micros(5_000))
    #expect(Micros(.nanoseconds(1_499)) == Micros(1) && Micros(.nanoseconds(1_500)) == Micros(2))
    #expect(Micros(.nanoseconds(-1_499)) == Micros(-1) && Micros(.nanoseconds(-1_500)) == Micros(-2))
    #expect(Micros(.nanoseconds(499)) == .zero && Micros(.nanoseconds(-499)) == .zero)
    #expect(Micros(.zero) == .zero)
  }

  @Test(arguments: [0, 1, -1, 999_999, -86_400_000_000, .max, .min])
  func `converting microseconds to a duration and back changes nothing`(count: Int64) {
    #expect(Micros(Micros(count).duration) == Micros(count))
  }

  @Test func `a duration beyond the range of microseconds saturates`() {
    #expect(Micros(.seconds(Int64.max)) == Micros(.max) && Micros(.seconds(Int64.min)) == Micros(.min))
    #expect(Micros(Duration(attoseconds: .max)) == Micros(.max))
    #expect(Micros(Duration(attoseconds: .min)) == Micros(.min))
  }
}
