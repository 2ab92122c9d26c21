// SPDX-License-Identifier: GPL-2.0-or-later
/// Shared parts of tests: other programs (`ChildProcess`), private networks with real peers (`LabStage`,
/// `LabPeer`). It has no assertions and no Foundation.
///
/// The invariant: a test process opens no Link socket and no JACK client outside a lab. Tests that open such
/// sockets or clients themselves carry `.enabled(if: Lab.isHere)`; `tools/test` runs everything inside a lab.
/// Tests that only talk to programs in a `LabStage` run anywhere.
public enum Lab {}
