// SPDX-License-Identifier: GPL-2.0-or-later

// What several modules ask of the system, in one place: Link's clock (`HostClock`), the machine's addresses and how they
// are written (`Interface.up`, `Address.init(_:)`), threads (`Thread`), and a wake-up for one that waits (`WakeUp`). It decides nothing.
