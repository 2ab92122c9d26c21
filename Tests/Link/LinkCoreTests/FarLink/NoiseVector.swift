// SPDX-License-Identifier: GPL-2.0-or-later

/// The published test vector of `Noise_NNpsk0_25519_ChaChaPoly_SHA256`, in hexadecimal digits.
///
/// Source: cacophony (https://github.com/haskell-cryptography/cacophony), as `tests/vectors/cacophony.txt` of
/// https://github.com/mcginty/snow at commit aabed31. Earlier versions of that file give the hash after the
/// first message as the hash of the handshake.
enum NoiseVector {
  /// Both sides have the same prologue and pre-shared key. Each side has a secret of its own.
  static let prologue = "4a6f686e2047616c74"
  static let key = "54686973206973206d7920417573747269616e20706572737065637469766521"
  static let callerSecret = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"
  static let calledSecret = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"

  static let handshakeHash = "f4d03dc34495c95729ea6de9e1b59004b59733102488b3e24bc441e0be208eaf"

  /// The two messages of the handshake, and then transport messages: the caller's first, and so on in turn.
  static let messages: [(payload: String, bytes: String)] = [
    (
      "4c756477696720766f6e204d69736573",
      "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
        + "79b962b8aff8485742ac32f905ba45369e2465fb59e138a93d67a0d1266b6a54"
    ),
    (
      "4d757272617920526f746862617264",
      "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
        + "d6062704d5a9c422a8e834423f8c1feada7e8d0d910a1a2cd030fb584221e3"
    ),
    ("462e20412e20486179656b", "e632c3763d7669067383433197a3baddf146e9e70ad4b4e9e59e0f"),
    ("4361726c204d656e676572", "64c6bee32ea91c8474bb4c21d7a700109ad45af77b29764ba5eb1e"),
    (
      "4a65616e2d426170746973746520536179",
      "e2fa0bed0603b62d3ccac2ecabbf3fe33f3e86514909b323361626266cb2471cc8"
    ),
    (
      "457567656e2042f6686d20766f6e2042617765726b",
      "0c01dc9cec1fe4ddd692e8dd32188aa351088dc91183639a53b57aa4692b5ebdef8b8ca111"
    ),
  ]
}
