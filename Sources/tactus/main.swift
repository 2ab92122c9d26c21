// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

EndSignals.hold()
exit(Tactus.main(CommandLine.arguments.dropFirst()).rawValue)
