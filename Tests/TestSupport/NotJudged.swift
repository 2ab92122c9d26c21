// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// What a test could not judge, because this machine lost cycles while it listened: `tools/test` counts these and ends with
/// them. A test that says it has proved nothing about that, and hides nothing.
public func notJudged(_ what: String) { print("not judged: \(what)") }

/// Ends a test that could judge nothing. A whole test is shown as skipped; of one case among several nothing would be said.
public func unjudged(_ why: String) throws -> Never {
  if Test.Case.current?.isParameterized == true { notJudged(why) }
  try Test.cancel("not judged: \(why)")
}
