// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import TactusClickSounds
import TactusJACK
import TactusSurface

// Keeps the user's choices: in the state file, the configuration, and the session manager's folder. [control]
extension App {
  /// Writes changed choices to the state file, and saves if the session manager, a signal or a controller
  /// asks for it.
  func keep(_ host: JACKHost) {
    keeper.note(desk.takeLasting().map { configuration.taking($0) }, at: Link.clock())
    var chosen: Configuration { configuration.taking(desk.lasting) }
    project?.poll(chosen, host: host, links: links(news.peers), at: Link.clock())
    if Signals.isDue(SIGUSR1) {
      keeper.hurry(at: Link.clock())
      project?.save(chosen, host: host)
    }
    if let replacing = desk.takeSaving() { save(chosen, host, replacing: replacing) }
  }

  /// Saves at a controller's request: for the session manager if there is one, otherwise as the user's own
  /// configuration.
  private func save(_ chosen: Configuration, _ host: JACKHost, replacing: Bool) {
    var words: String
    var hasFailed = false
    do throws(UserError) {
      if let project {
        guard case .done = project.save(chosen, host: host) else {
          throw UserError("the session's folder can't be written")
        }
        words = "saved in the session"
      } else {
        words = try SavedConfiguration.write(
          chosen, over: startup.file, to: startup.places.configuration,
          besides: RunningNote.all().map(\.name).filter { $0 != host.server.clientName },
          replacing: replacing)
        // The file now contains the settings that are in effect already, so read it without
        // applying it.
        try startup.read()
        keeper.configured(chosen, file: startup.file)
      }
    } catch {
      words = "not saved: \(error.inALine)"
      hasFailed = true
    }
    desk.tell {
      $0.saving.count += 1
      ($0.saving.words, $0.saving.hasFailed) = (words, hasFailed)
    }
    say(words)
  }

  /// Applies what changed in the configuration file; if the file is wrong, nothing changes.
  func reload(_ host: JACKHost) {
    let reload: Reload
    do throws(UserError) {
      reload = try startup.reload(present: configuration.taking(desk.state))
    } catch {
      return say("\(error.inALine); everything stays as it was")
    }
    configuration = reload.wanted
    do throws(SoundFileError) {
      try sounds.load(configuration.soundFiles)
    } catch {
      say(error.description)
    }
    desk.apply(configuration)
    presence.life = configuration.life
    if reload.movesConnections { wantConnections(of: host) }
    keeper.configured(configuration.taking(desk.lasting), file: startup.file)
    say(reload.line)
  }
}
