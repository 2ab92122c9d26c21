# SPDX-License-Identifier: GPL-2.0-or-later
"""A session manager of our own, on the library that the real ones use (pyliblo3): starts the program behind `--` as they
do, with NSM_URL, and says what it is told to on standard input, one order a line:

    open PATH NAME ID, save, loaded, term, kill      as a manager would
    stranger ADDRESS [ARGUMENT]...                   the same from another port, which is nobody's manager

It prints what it hears ("/reply s:/nsm/client/save s:saved"), what the program prints ("out: ..."), and "ended STATUS"."""

import os
import subprocess
import sys
import threading

import pyliblo3 as liblo

printing = threading.Lock()
client = None
greeting = sys.argv[1] if sys.argv[1] != "--" else "hello"


def show(line):
    with printing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def heard(address, arguments, types, source):
    global client
    if address == "/ended":
        return show(f"ended {arguments[0]}")
    # Answer before printing: a reader of the output may send a command at once, and the client must get that
    # command after this answer.
    if address == "/nsm/server/announce":
        client = source
        if greeting == "refuse":
            server.send(client, "/error", address, ("i", -3), "not today")
        elif greeting != "silent":
            server.send(client, "/reply", address, "welcome", "fake manager", ":server-control:broadcast:optional-gui:")
    show(" ".join([address, *(f"{tag}:{value}" for tag, value in zip(types, arguments))]))


server = liblo.ServerThread(proto=liblo.UDP)
server.add_method(None, None, heard)
server.start()
stranger = liblo.Server(proto=liblo.UDP)
host = os.environ.get("FAKE_HOST", "127.0.0.1")
program = subprocess.Popen(
    sys.argv[sys.argv.index("--") + 1:], env=dict(os.environ, NSM_URL=f"osc.udp://{host}:{server.port}/"),
    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def listen():
    for line in program.stdout:
        show("out: " + line.rstrip("\n"))
    # Report the end through the socket, so that the program's last messages are printed before it.
    liblo.Server(proto=liblo.UDP).send(liblo.Address("127.0.0.1", server.port), "/ended", program.wait())


threading.Thread(target=listen, daemon=True).start()
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["open"]:
        server.send(client, "/nsm/client/open", *words[1:4])
    elif words == ["save"]:
        server.send(client, "/nsm/client/save")
    elif words == ["loaded"]:
        server.send(client, "/nsm/client/session_is_loaded")
    elif words == ["term"]:
        program.terminate()
    elif words == ["kill"]:
        program.kill()
    elif words[:1] == ["stranger"]:
        stranger.send(client, words[1], *words[2:])
program.kill()
