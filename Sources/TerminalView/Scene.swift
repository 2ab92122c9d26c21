// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import ControlSurface

/// Everything that is shown, at one moment.
public struct Scene: Sendable {
  public enum Page: Sendable {
    case playing
    /// What the keys do.
    case keys
  }

  public var state: SurfaceState
  /// On Link's clock. What is shown for a time is what is heard at it.
  public var now: Micros
  public var reach = Reach.off
  public var news: News?
  /// The one before.
  public var earlierNews: News?
  public var page = Page.playing
  public var typed: Keyboard.Typed?

  public init(state: SurfaceState, now: Micros) {
    self.state = state
    self.now = now
  }
}

/// What to type into a tablet.
public enum Reach: Hashable, Sendable {
  case off
  case thisMachine(port: Int)
  /// Each with its port; none while there is no network.
  case network([String], port: Int)
}

/// The last message.
public struct News: Hashable, Sendable {
  public var text: String
  public var time: Micros
  /// Somebody has to do something about it.
  public var isComplaint: Bool

  /// So long it stands out, as LinkKit's banners do.
  static let fresh = Micros(2_000_000)

  public init(_ text: String, at time: Micros, isComplaint: Bool = false) {
    self.text = text
    self.time = time
    self.isComplaint = isComplaint
  }
}
