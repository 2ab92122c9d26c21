// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusSndfile
import Glibc

/// A sound from the user's WAV or FLAC file, which is read once into memory and mixed to mono. [control]
///
/// The file is not trusted. The claims of its header are checked against limits and never used to allocate;
/// samples that are not numbers become silence.
public struct SoundFile: Equatable, Sendable {
  /// The length of the longest sound, in seconds. A longer sound is probably the wrong file.
  public static let longestSeconds = 10
  static let mostChannels: Int32 = 32
  static let rates: ClosedRange<Int32> = 4000...768_000
  private static let chunkFrames = 4096
  /// The length in seconds of the fade at the sound's end. Without it, a file whose last sample is loud would
  /// end with a click.
  private static let releaseSeconds = 0.002

  let samples: [Float]
  let sampleRate: Int

  init(samples: [Float], sampleRate: Int) {
    self.samples = samples
    self.sampleRate = sampleRate
  }

  /// Reads the file at `path`; waits for nothing but the disk.
  public init(reading path: String) throws(SoundFileError) {
    // Without O_NONBLOCK, opening a pipe without a writer would wait for ever.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw .unreadable(path, reason: String(cString: strerror(errno))) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw .unreadable(path, reason: "not a file")
    }
    var info = SF_INFO()
    // From here on libsndfile owns the descriptor. libsndfile 1.2.0 closes the descriptor of a file that it
    // refuses, even if the caller forbids that. If we closed the descriptor again, we could hit a socket that
    // another thread has opened meanwhile.
    guard let file = sf_open_fd(descriptor, Int32(SFM_READ), &info, 1) else {
      throw .notAudio(path, reason: String(cString: sf_strerror(nil)))
    }
    defer { sf_close(file) }
    try Self.check(info, path)
    samples = try Self.mono(file, info, path)
    sampleRate = Int(info.samplerate)
  }

  private static func check(_ info: SF_INFO, _ path: String) throws(SoundFileError) {
    switch Int(info.format) & Int(SF_FORMAT_TYPEMASK) {
    case Int(SF_FORMAT_WAV), Int(SF_FORMAT_WAVEX), Int(SF_FORMAT_FLAC): break
    default: throw .notAudio(path, reason: "neither WAV nor FLAC")
    }
    guard (1...mostChannels).contains(info.channels) else {
      throw .unusable(path, reason: "\(info.channels) channels; up to \(mostChannels) can be mixed")
    }
    guard rates.contains(info.samplerate) else {
      throw .unusable(
        path,
        reason: "\(info.samplerate) frames a second; \(rates.lowerBound) to \(rates.upperBound) are supported"
      )
    }
  }

  /// Reads samples until the end of the file, whatever length the header claims.
  private static func mono(
    _ file: OpaquePointer, _ info: SF_INFO, _ path: String
  ) throws(SoundFileError) -> [Float] {
    let channels = Int(info.channels)
    let limit = longestSeconds * Int(info.samplerate)
    var mixed: [Float] = []
    var chunk = [Float](repeating: 0, count: chunkFrames * channels)
    while true {
      let frames = Int(sf_readf_float(file, &chunk, sf_count_t(chunkFrames)))
      guard frames > 0 else { break }
      guard mixed.count + frames <= limit else {
        throw .unusable(path, reason: "longer than \(longestSeconds) seconds")
      }
      for frame in 0..<min(frames, chunkFrames) {
        var sum: Float = 0
        for channel in 0..<channels {
          let sample = chunk[frame * channels + channel]
          sum += sample.isFinite ? max(-8, min(8, sample)) : 0
        }
        mixed.append(sum / Float(channels))
      }
    }
    guard !mixed.isEmpty else { throw .unusable(path, reason: "there is nothing in it") }
    return mixed
  }

  /// The sound at the sample rate `rate`, with a soft end. It stays within -1 ... 1 if the file's samples do.
  func samples(at rate: Int) -> [Float] {
    var output = rate == sampleRate ? samples : Resampler(from: sampleRate, to: rate).convert(samples)
    let release = min(output.count, Int(Self.releaseSeconds * Double(rate)))
    for index in 0..<release {
      output[output.count - 1 - index] *= Float(index) / Float(release)
    }
    return output
  }
}

/// The reason why a sound file cannot be used; its text is shown to the user.
public enum SoundFileError: Error, Equatable, CustomStringConvertible {
  case unreadable(String, reason: String)
  case notAudio(String, reason: String)
  case unusable(String, reason: String)

  public var description: String {
    switch self {
    case .unreadable(let path, let reason): "the sound file \"\(path)\" can't be read: \(reason)"
    case .notAudio(let path, let reason): "\"\(path)\" is no sound file that a click can use: \(reason)"
    case .unusable(let path, let reason): "the sound file \"\(path)\" can't be used as a click: \(reason)"
    }
  }
}
