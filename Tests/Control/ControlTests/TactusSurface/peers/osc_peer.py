# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller made with somebody else's OSC library: python-osc or pyliblo3, chosen by the first argument.

Sends from one port and listens at another, as TouchOSC does. Lines on standard input are sent:

    HOST PORT ADDRESS [TYPE:VALUE]...      one message; TYPE is i h f d s T F N I
    bundle SECONDS HOST PORT ADDRESS ...   the same in a bundle due so many seconds from now

What comes in is printed the same way; the first line is "listening PORT".
"""

import socket
import sys
import threading
import time

library = sys.argv[1]
CONSTANTS = {"T": True, "F": False, "N": None, "I": None}


def parse(words):
    arguments = []
    for word in words:
        tag, _, value = word.partition(":")
        if tag in "ih":
            value = int(value)
        elif tag in "fd":
            value = float(value)
        elif tag in CONSTANTS:
            value = CONSTANTS[tag]
        arguments.append((tag, value))
    return arguments


printing = threading.Lock()


def show(address, arguments):
    shown = []
    for tag, value in arguments:
        shown.append(tag if tag in CONSTANTS else f"{tag}:{value}")
    # Write each line in one call: two threads print, and `print` writes word by word.
    with printing:
        sys.stdout.write(" ".join([address, *shown]) + "\n")
        sys.stdout.flush()


if library == "pythonosc":
    from pythonosc import osc_bundle, osc_bundle_builder, osc_message_builder

    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.1", 0))
    # Replies to the sending port are printed as well, and marked.
    sender.bind(("127.0.0.1", 0))

    def packet(address, arguments):
        builder = osc_message_builder.OscMessageBuilder(address)
        for tag, value in arguments:
            builder.add_arg(value, tag)
        return builder.build()

    def send(host, port, address, arguments, delay):
        message = packet(address, arguments)
        if delay is not None:
            bundle = osc_bundle_builder.OscBundleBuilder(time.time() + delay)
            bundle.add_content(message)
            message = bundle.build()
        sender.sendto(message.dgram, (host, port))

    def unpack(datagram, prefix):
        from pythonosc.osc_message import OscMessage

        if osc_bundle.OscBundle.dgram_is_bundle(datagram):
            for content in osc_bundle.OscBundle(datagram):
                unpack(content.dgram, prefix)
            return
        message = OscMessage(datagram)
        end = datagram.index(b",")
        tags = datagram[end + 1 : datagram.index(b"\0", end)].decode()
        show(prefix + message.address, zip(tags, message.params))

    def listen(where, prefix):
        while True:
            unpack(where.recv(65536), prefix)

    print("listening", listener.getsockname()[1], flush=True)
    threading.Thread(target=listen, args=(listener, ""), daemon=True).start()
    threading.Thread(target=listen, args=(sender, "source:"), daemon=True).start()
else:
    import pyliblo3 as liblo

    server = liblo.ServerThread()

    def heard(address, arguments, types):
        show(address, zip(types, arguments))

    server.add_method(None, None, heard)
    server.start()

    def send(host, port, address, arguments, delay):
        message = liblo.Message(address)
        for tag, value in arguments:
            message.add((tag, value) if tag not in CONSTANTS else (tag,))
        if delay is not None:
            message = liblo.Bundle(liblo.time() + delay, message)
        server.send(liblo.Address(host, port), message)

    print("listening", server.port, flush=True)

for line in sys.stdin:
    words = line.split()
    if not words:
        continue
    delay = None
    if words[0] == "bundle":
        delay = float(words[1])
        words = words[2:]
    send(words[0], int(words[1]), words[2], parse(words[3:]), delay)
