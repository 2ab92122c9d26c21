# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/listen as another program drives it: lines in, JSON lines out."""

import json
import queue
import subprocess
import threading
import time


class Deaf(RuntimeError):
    """The listener says nothing, or has ended."""


class Ear:
    def __init__(self, program, options, environment=None):
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        self.inbox = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.hear(json.loads(line))
        self.inbox.put(None)

    def hear(self, message):
        """In a thread of its own, as soon as it is said."""
        self.inbox.put(message)

    def next(self, seconds):
        try:
            message = self.inbox.get(timeout=max(0.01, seconds))
        except queue.Empty:
            raise Deaf("the listener is silent")
        if message is None:
            raise Deaf("the listener ended")
        return message

    def wait(self, kind, seconds):
        deadline = time.monotonic() + seconds
        while True:
            message = self.next(deadline - time.monotonic())
            if message["type"] == kind:
                return message

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
