// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import LinkAudioSession

/// The test vector of SipHash-2-4 for eight bytes: key 00...0f, message 00...07.
@Test func `SecretDice computes the published test vector of SipHash-2-4`() {
  let key = (0x0706_0504_0302_0100 as UInt64, 0x0f0e_0d0c_0b0a_0908 as UInt64)
  #expect(SecretDice.hash(0x0706_0504_0302_0100, key) == 0x93f5_f579_9a93_2462)
}
