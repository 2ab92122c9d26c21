// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// Reports that a test could not judge something, because this machine lost cycles. `tools/test` counts and
/// lists these reports, so that none stays hidden.
public func notJudged(_ what: String) { print("not judged: \(what)") }

/// Ends a test that could judge nothing. A whole test is shown as skipped. A single case of several would not
/// be shown, so it is reported as "not judged".
public func unjudged(_ why: String) throws -> Never {
  if Test.Case.current?.isParameterized == true { notJudged(why) }
  try Test.cancel("not judged: \(why)")
}
