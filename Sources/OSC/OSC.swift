// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import Addresses

// OSC over UDP, for the control surface and the session manager: messages, addresses, and a socket.
//
// Every packet is checked byte by byte (`PacketCheck`) before liblo takes it apart (`LibloCodec`). What an address means is
// not known here, and nothing waits: there is no thread, and every socket is non-blocking. TCP is lacking on purpose.
//
// Way in: `Message`, `OSCPort` for a conversation with one program, `DatagramSocket` for many.
