// SPDX-License-Identifier: GPL-2.0-or-later
import ClickSounds
import ControlSurface
import Glibc
import JACKHost
import Link

// What was chosen, and where it is kept: the state file, the configuration, the session manager's folder. [control]
extension Studio {
  /// What was chosen: to the state file, and to the session manager when it asks for it.
  func keep(_ host: JACKHost) {
    keeper.note(desk.takeLasting().map { configuration.taking($0) }, at: Link.clock())
    var chosen: Configuration { configuration.taking(desk.lasting) }
    project?.look(chosen, host: host, links: links(news.peers), at: Link.clock())
    if Signals.isDue(SIGUSR1) {
      keeper.hurry(at: Link.clock())
      project?.save(chosen, host: host)
    }
    if let replacing = desk.takeSaving() { save(chosen, host, replacing: replacing) }
  }

  /// Because somebody asked for it: as the session's, or the user's own configuration.
  private func save(_ chosen: Configuration, _ host: JACKHost, replacing: Bool) {
    var words: String
    do throws(Complaint) {
      if let project {
        guard case .done = project.save(chosen, host: host) else {
          throw Complaint("the session's folder refused it")
        }
        words = "saved as the session has it"
      } else {
        words = try SavedConfiguration.write(
          chosen, over: startup.file, to: startup.places.configuration,
          besides: RunningNote.all().map(\.name).filter { $0 != host.server.clientName },
          replacing: replacing)
        // It says nothing new of what plays, so nothing is changed by it.
        try startup.read()
        keeper.configured(chosen, file: startup.file)
      }
    } catch {
      words = "not saved: \(error.inALine)"
    }
    desk.tell {
      $0.saves += 1
      $0.saved = words
    }
    say(words)
  }

  /// What the configuration says otherwise than before holds from now on; if it is wrong, nothing does.
  func reload(_ host: JACKHost) {
    let reload: Reload
    do throws(Complaint) {
      reload = try startup.reload(present: configuration.taking(desk.state))
    } catch {
      return say("\(error.inALine); everything stays as it was")
    }
    configuration = reload.wanted
    do throws(SoundFileError) {
      try sounds.take(configuration.soundFiles)
    } catch {
      say(error.description)
    }
    desk.take(configuration)
    presence.life = configuration.life
    if reload.movesConnections { wantConnections(of: host) }
    keeper.configured(configuration.taking(desk.lasting), file: startup.file)
    say(reload.line)
  }
}
