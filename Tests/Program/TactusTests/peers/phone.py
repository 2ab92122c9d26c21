#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A phone without a screen: what it is told in lines, it asks of the page, and prints what comes.

    session PAGE              whether it is paired
    pair PAGE CODE            prints the status
    connect PAGE [CODE] [ORIGIN]
    say LINE                  by the socket; what it hears is printed as it comes, and "closed" at its end
"""

import http.client
import sys
import threading
import urllib.parse

from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

PATIENCE = 5


class Phone:
    def __init__(self) -> None:
        self.cookie: str | None = None
        self.socket: ClientConnection | None = None

    def headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie} if self.cookie else {}

    def ask(self, page: str, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        host = urllib.parse.urlsplit(page).netloc
        connection = http.client.HTTPConnection(host, timeout=PATIENCE)
        try:
            origin = {"Origin": page.rstrip("/")} if body is not None else {}
            connection.request(method, path, body, headers=self.headers() | origin)
            answer = connection.getresponse()
            if cookie := answer.getheader("Set-Cookie"):
                self.cookie = cookie.split(";")[0]
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def connect(self, page: str, code: str = "", origin: str | None = None) -> None:
        host = urllib.parse.urlsplit(page).netloc
        address = f"ws://{host}/osc" + (f"?{code}" if code else "")
        self.socket = connect(address, additional_headers=self.headers(), origin=origin, open_timeout=PATIENCE)  # type: ignore[arg-type]
        threading.Thread(target=self.hear, args=(self.socket,), daemon=True).start()

    def hear(self, socket: ClientConnection) -> None:
        try:
            for frame in socket:
                print(frame, flush=True)
        except WebSocketException:
            pass
        print("closed", flush=True)

    def obey(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        words = rest.split()
        if verb == "session":
            print(self.ask(words[0], "GET", "/session")[1].strip(), flush=True)
        elif verb == "pair":
            print(self.ask(words[0], "POST", "/pair", words[1])[0], flush=True)
        elif verb == "connect":
            self.connect(*words)
            print("connected", flush=True)
        elif self.socket:
            self.socket.send(rest)


def main() -> None:
    phone = Phone()
    for line in sys.stdin:
        try:
            phone.obey(line.rstrip("\n"))
        except InvalidStatus as refusal:
            print(f"refused {refusal.response.status_code}", flush=True)
        except (OSError, http.client.HTTPException) as problem:
            print(f"unreachable ({type(problem).__name__})", flush=True)


main()
