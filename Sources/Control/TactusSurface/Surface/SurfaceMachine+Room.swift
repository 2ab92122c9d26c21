// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

// Handles controllers that cannot be reached for a while, and decides which controllers make room for others.
extension SurfaceMachine {
  // MARK: controllers that cannot be reached

  /// Handles the kernel's report that a packet of ours did not arrive. `isThere`: the machine is there, but
  /// no program listens at the port; otherwise there is no route.
  mutating func unreachable(_ target: Endpoint, isThere: Bool, clocks: Clocks) {
    self.clocks = clocks
    guard let index = subscribers.firstIndex(where: { $0.target.endpoint == target && !$0.target.isBrowser })
    else { return }
    // This report is late: it is about an earlier try.
    guard isThere || subscribers[index].nextTry == nil else { return }
    subscribers[index].refusals += 1
    let isStillAway = !isThere && subscribers[index].awaySince != nil
    guard isStillAway || subscribers[index].refusals == SurfaceLimits.unreachable else { return }
    let subscriber = subscribers[index]
    if subscriber.awaySince == nil { note(isThere ? .nobodyListens(target) : .noWay(target)) }
    if isThere, subscriber.source != subscriber.target {
      refuse(
        .refused("nobody listens at port \(target.port): set the receive port"),
        Table.address("subscribe"),
        to: subscriber.source, at: subscriber.source)
    }
    if settings.targets.contains(subscriber.target) { return }
    if !isThere, hears(subscriber.target) { return awaitReturn(index) }
    drop(index, why: isThere ? "nobody listens" : "it can't be reached")
  }

  /// Keeps a proven controller whose route is gone, and tries it again and again: after a pulled cable or a
  /// restarted switch, a display does not subscribe again by itself.
  private mutating func awaitReturn(_ index: Int) {
    let since = subscribers[index].awaySince ?? now
    guard now - since < SurfaceLimits.longestAbsence else {
      return drop(index, why: "it can't be reached")
    }
    subscribers[index].awaySince = since
    subscribers[index].nextTry = now + SurfaceLimits.absenceInterval
  }

  /// Call this when the controller can be reached again.
  mutating func comeBack(_ index: Int) {
    subscribers[index].refusals = 0
    subscribers[index].awaySince = nil
    guard subscribers[index].nextTry != nil else { return }
    subscribers[index].nextTry = nil
    dump(to: index)
  }

  /// Sends each absent controller all values. A controller is back if no failure is reported until the next
  /// try.
  mutating func tryAbsent() {
    for index in subscribers.indices {
      guard let since = subscribers[index].awaySince else { continue }
      if let next = subscribers[index].nextTry {
        guard now >= next else { continue }
        subscribers[index].nextTry = nil
        subscribers[index].refusals = 0
        subscribers[index].tried = now
        dump(to: index)
      } else if now - (subscribers[index].tried ?? since) >= SurfaceLimits.absenceInterval {
        subscribers[index].awaySince = nil
      }
    }
  }

  // MARK: making room for subscriptions

  /// How sure we are that a controller exists and receives our packets.
  private enum Rank: Comparable {
    case unproven, proven, paired
  }

  private func rank(of subscriber: Subscriber) -> Rank {
    isPaired(subscriber.target) ? .paired : subscriber.hears || hears(subscriber.target) ? .proven : .unproven
  }

  mutating func makeRoom(for newcomer: Subscriber) -> Bool {
    newcomer.target.isBrowser ? makeRoom(forBrowser: newcomer.target) : makeRoom(forController: newcomer)
  }

  /// Makes room for a browser. The browser that was silent for the longest time is removed, if that time is
  /// long enough. Otherwise a browser of the host with the most browsers goes, if that host still has more
  /// than the newcomer's host will have. Browsers that may only watch go before paired ones, and never
  /// displace paired ones.
  private mutating func makeRoom(forBrowser newcomer: Peer) -> Bool {
    let browsers = subscribers.indices.filter { subscribers[$0].target.isBrowser }
    let watchers = browsers.filter { !subscribers[$0].target.isPairedBrowser }
    if newcomer.isPairedBrowser, let watcher = longest(watchers) {
      giveUp(watcher, why: "a paired browser came, and there is room for \(SurfaceLimits.subscribers)")
      return true
    }
    let guests = newcomer.isPairedBrowser ? browsers : watchers
    return giveUpSilent(guests, for: newcomer) || giveUpOfMost(guests, of: guests, for: newcomer)
  }

  /// Makes room for a controller. A newcomer never displaces a controller of a higher rank. Unproven
  /// controllers go first. An unproven newcomer displaces them by the rules for browsers. A newcomer of
  /// higher rank displaces them at once, if the newcomer is paired or its host has no other subscription.
  /// Other controllers are asked first, and those that answer stay. An unproven newcomer is asked, too, and
  /// is subscribed when it has answered.
  private mutating func makeRoom(forController newcomer: Subscriber) -> Bool {
    let rank = rank(of: newcomer)
    let guests = subscribers.indices.filter {
      !subscribers[$0].target.isBrowser && !settings.targets.contains(subscribers[$0].target)
    }
    let unproven = guests.filter { self.rank(of: subscribers[$0]) == .unproven }
    if giveUpSilent(unproven, for: newcomer.target)
      || giveUpOfMost(unproven, of: guests, for: newcomer.target)
    {
      return true
    }
    guard rank > .unproven else {
      apply(newcomer)
      return false
    }
    let host = newcomer.target.endpoint.address
    let own = guests.count { subscribers[$0].target.endpoint.address == host }
    if own == 0 || rank == .paired, let first = longest(unproven) {
      giveUp(first, why: "it has not confirmed that it hears tactus, and another controller has")
      return true
    }
    let others = guests.filter {
      let other = self.rank(of: subscribers[$0])
      return other > .unproven && other <= rank
    }
    if rank == .paired, let first = longest(others.filter { self.rank(of: subscribers[$0]) == .proven }) {
      giveUp(first, why: "a paired controller came")
      return true
    }
    if giveUpOfMost(others, of: guests, for: newcomer.target) { return true }
    return giveUpUnanswering(others, for: newcomer)
  }

  private func longest(_ candidates: [Int]) -> Int? {
    candidates.min { subscribers[$0].heard < subscribers[$1].heard }
  }

  private mutating func giveUpSilent(_ candidates: [Int], for newcomer: Peer) -> Bool {
    guard let idle = longest(candidates), now - subscribers[idle].heard > SurfaceLimits.idle else {
      return false
    }
    giveUp(idle, why: "it was silent for longest, and another \(newcomer.kind) came")
    return true
  }

  /// - Parameter guests: the subscriptions that are counted for each host.
  private mutating func giveUpOfMost(_ candidates: [Int], of guests: [Int], for newcomer: Peer) -> Bool {
    let hosts = Dictionary(grouping: guests) { subscribers[$0].target.endpoint.address }
    guard let most = hosts.values.max(by: { $0.count < $1.count }),
      most.count > (hosts[newcomer.endpoint.address]?.count ?? 0) + 1,
      let index = longest(most.filter(candidates.contains))
    else { return false }
    giveUp(index, why: "its host has \(most.count) subscriptions, and another \(newcomer.kind) came")
    return true
  }

  /// Gives up a controller that was asked some time ago and has not answered. If there is none, asks all
  /// silent controllers, and the newcomer waits.
  private mutating func giveUpUnanswering(_ candidates: [Int], for newcomer: Subscriber) -> Bool {
    let idle = candidates.filter { now - subscribers[$0].heard > SurfaceLimits.idle }
    guard !idle.isEmpty else { return false }
    let deaf = idle.filter { index in
      subscribers[index].asked.map { now - $0 >= SurfaceLimits.answerTime } ?? false
    }
    if let index = longest(deaf) {
      giveUp(index, why: "it did not answer, and another controller came")
      return true
    }
    for index in idle where subscribers[index].asked == nil {
      subscribers[index].asked = now
      put(packet: proofPacket(for: subscribers[index].target), to: subscribers[index].target)
    }
    var newcomer = newcomer
    newcomer.asked = now
    remember(newcomer)
    return false
  }

  /// Ends a subscription to make room. A browser stays connected and gets the reason; it keeps its values and
  /// shows them as old.
  private mutating func giveUp(_ index: Int, why: String) {
    let target = subscribers[index].target
    guard target.isBrowser else { return leave(index, why: why) }
    drop(index, why: why)
    let (path, code) = (Table.address("subscribe"), Refusal.Code.refused.rawValue)
    reply(
      Message(Table.address("error"), .string("subscribe: \(why)"), .string(path), .int32(code)), to: target)
  }

  // MARK: controllers that wait for a subscription

  /// Sends a controller its proof text, which only a program at its address can know.
  private mutating func apply(_ newcomer: Subscriber) {
    guard newcomer.dialect == .own else { return }
    remember(newcomer)
    sendPacket(proofPacket(for: newcomer.target), to: newcomer.target)
  }

  private mutating func remember(_ newcomer: Subscriber) {
    applicants.removeAll { $0.target == newcomer.target }
    if applicants.count >= SurfaceLimits.applicants { applicants.removeFirst() }
    applicants.append(newcomer)
  }

  /// Returns whether this was the proof text of a controller that waits for a place.
  mutating func receiveProof(ofApplicant text: String, from peer: Peer) -> Bool {
    guard
      let index = applicants.firstIndex(where: {
        $0.target.isKin(of: peer) && proof(of: $0.target.endpoint) == text
      })
    else { return false }
    var newcomer = applicants.remove(at: index)
    guard now - newcomer.heard < SurfaceLimits.idle else { return true }
    newcomer.hears = true
    newcomer.heard = now
    takeIn(newcomer)
    return true
  }

  /// Decides about the newcomers that had to wait for the answers of others.
  mutating func decideOnApplicants() {
    let due = applicants.filter { $0.asked.map { now - $0 >= SurfaceLimits.answerTime } ?? false }
    guard !due.isEmpty else { return }
    applicants.removeAll { newcomer in due.contains { $0.target == newcomer.target } }
    for var newcomer in due {
      newcomer.asked = nil
      takeIn(newcomer)
    }
  }

  private mutating func takeIn(_ newcomer: Subscriber) {
    let isNew = !subscribers.contains { $0.target == newcomer.target }
    let others = subscribers.count { !$0.target.isBrowser }
    guard isNew, others < SurfaceLimits.subscribers || makeRoom(for: newcomer) else { return }
    welcome(newcomer)
  }
}
