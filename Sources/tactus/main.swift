// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

Signals.hold()
exit(Tactus.main(CommandLine.arguments.dropFirst()).rawValue)
