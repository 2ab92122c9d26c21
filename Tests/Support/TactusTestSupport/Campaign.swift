// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Returns the cases of a long test. With `tools/test --quick`, returns only the middle case and prints a
/// line about that.
public func campaign<Cases: Collection>(_ cases: Cases) -> [Cases.Element] {
  let all = Array(cases)
  return isQuick ? [all[all.count / 2]] : all
}

private let isQuick = getenv("TESTS_ARE_QUICK") != nil
