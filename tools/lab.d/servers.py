# SPDX-License-Identifier: GPL-2.0-or-later
"""A private JACK server per host: jackd with the dummy driver, or PipeWire with its own libjack."""

import os
import socket
import sys
import time

from main import fail

READY_WITHIN = 10.0  # seconds; a busy machine starts jackd in 0.2 to 1


def start(options, everyone):
    """Start the servers of all hosts at once and come back when each takes clients."""
    if options.server is None:
        return
    starters = {"jackd": start_jackd, "pipewire": start_pipewire}
    waiting = [starters[options.server](options, host) for host in everyone]
    for wait in waiting:
        wait()


def may_run_realtime():
    """Asked of the kernel, not of ulimit: try it in a child."""
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def accepts(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(path)
            return True
        except OSError:
            return False


def patiently(what, log, pid, is_ready):
    deadline = time.monotonic() + READY_WITHIN
    while not is_ready():
        gone = os.waitpid(pid, os.WNOHANG)[0] == pid
        if gone or time.monotonic() > deadline:
            try:
                with open(log) as file:
                    sys.stderr.write(file.read())
            except OSError:
                pass
            fail(f"{what} {'ended' if gone else 'did not come up within ' + str(READY_WITHIN) + ' s'}")
        time.sleep(0.005)


def start_jackd(options, host):
    name = host.environment["JACK_DEFAULT_SERVER"]
    log = f"{host.environment['LAB_DIR']}/jackd-{host.number}.log"
    environment = {key: value for key, value in host.environment.items() if key != "DISPLAY"}
    scheduling = ["--realtime", "--realtime-priority", "10"]
    if not options.realtime or not may_run_realtime():
        scheduling = ["--no-realtime"]
    pid = host.spawn(
        ["jackd", *scheduling, "--name", name, "-d", "dummy", "--rate", str(options.rate),
         "--period", str(options.period)], environment, log)
    path = f"/proc/{pid}/root/dev/shm/jack_{name}_{os.geteuid()}_0"

    return lambda: patiently("jackd", log, pid, lambda: accepts(path))


# PipeWire without a session manager: a null sink as the driver and as "system", its ports configured from here, the
# rate and period pinned. Programs link themselves, as on jackd.
PIPEWIRE = """
context.properties = {
  core.daemon = true
  core.name = pipewire-0
  support.dbus = false
  link.max-buffers = 16
  mem.warn-mlock = false
  default.clock.rate = @RATE@
  default.clock.allowed-rates = [ @RATE@ ]
  default.clock.quantum = @PERIOD@
  default.clock.min-quantum = @PERIOD@
  default.clock.max-quantum = @PERIOD@
}
context.spa-libs = {
  audio.convert.* = audioconvert/libspa-audioconvert
  support.* = support/libspa-support
}
context.modules = [
  @REALTIME@
  { name = libpipewire-module-protocol-native }
  { name = libpipewire-module-metadata }
  { name = libpipewire-module-spa-node-factory }
  { name = libpipewire-module-client-node }
  { name = libpipewire-module-access args = { } }
  { name = libpipewire-module-adapter }
  { name = libpipewire-module-link-factory }
]
context.objects = [
  { factory = metadata args = { metadata.name = default } }
  { factory = adapter args = {
      factory.name = support.null-audio-sink
      node.name = system
      node.description = system
      media.class = Audio/Sink
      priority.driver = 20000
      audio.position = [ FL FR ]
      port.physical = true
      port.terminal = true
      node.param.PortConfig = {
        direction = Input mode = dsp monitor = true
        format = {
          mediaType = audio mediaSubtype = raw format = F32
          rate = @RATE@ channels = 2 position = [ FL FR ]
        }
      }
  } }
]
"""


def start_pipewire(options, host):
    directory = f"{host.environment['LAB_DIR']}/pipewire-{host.number}"
    os.mkdir(directory)
    realtime = "{ name = libpipewire-module-rt args = { rt.prio = 10 } flags = [ ifexists nofail ] }"
    text = PIPEWIRE.replace("@RATE@", str(options.rate)).replace("@PERIOD@", str(options.period))
    with open(f"{directory}/pipewire.conf", "w") as file:
        file.write(text.replace("@REALTIME@", realtime if options.realtime and may_run_realtime() else ""))
    # ${LIB} is for the loader: the libraries' directory of whatever architecture the program has.
    library = "/usr/${LIB}/pipewire-0.3/jack"
    before = host.environment.get("LD_LIBRARY_PATH")
    host.environment["LD_LIBRARY_PATH"] = f"{library}:{before}" if before else library
    log = f"{directory}/log"
    pid = host.spawn(["pipewire"], dict(host.environment, PIPEWIRE_CONFIG_DIR=directory), log)
    path = f"/proc/{pid}/root{host.environment['XDG_RUNTIME_DIR']}/pipewire-0"
    return lambda: patiently("pipewire", log, pid, lambda: accepts(path))
