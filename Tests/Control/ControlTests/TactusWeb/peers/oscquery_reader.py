# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads an OSCQuery server with Python's own HTTP and JSON, and prints what it says."""

import http.client
import json
import random
import socket
import sys

port = int(sys.argv[1])
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)


def get(path, method="GET", headers={}):
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
    except (http.client.RemoteDisconnected, ConnectionResetError):
        # A server may close an answered connection to make room for others. Clients connect again, as browsers do.
        connection.close()
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
    return response.status, response.read().decode()


def walk(node):
    if "TYPE" in node:
        print("node", node["FULL_PATH"], node["TYPE"])
        if "VALUE" in node:
            assert len(node["VALUE"]) == len(node["TYPE"]), node
        assert len(node["RANGE"]) == len(node["TYPE"]), node
    for name, child in node.get("CONTENTS", {}).items():
        assert child["FULL_PATH"].rsplit("/", 1)[1] == name
        walk(child)


walk(json.loads(get("/")[1]))
info = json.loads(get("/?HOST_INFO")[1])
print("osc", info["OSC_PORT"], info["OSC_TRANSPORT"])
print("value", *json.loads(get("/tactus/tempo?VALUE")[1])["VALUE"])
print(
    "statuses",
    get("/tactus/nothing")[0],
    get("/tactus/tempo/nudge?VALUE")[0],
    get("/tactus/tempo?SHOE_SIZE")[0],
    get("/", "PUT")[0],
    get("/", headers={"Host": "evil.example"})[0],
)
print("page", "yes" if "/tactus/tempo" in get("/?HTML")[1] else "no")

# Other clients that send invalid requests, or nothing at all, do not disturb this client.
silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
dice = random.Random(7)
for _ in range(200):
    with socket.create_connection(("127.0.0.1", port)) as garbage:
        garbage.sendall(bytes(dice.randrange(256) for _ in range(dice.randrange(200))) + b"\r\n\r\n")
print("after garbage", get("/tactus/tempo")[0])
