// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusSndfile
import Glibc
import Synchronization
import TactusSync
import TactusTestSupport
import Testing

@testable import TactusClickSounds

extension ScratchFolder {
  /// Writes a sound file of interleaved samples.
  func sound(
    _ name: String, format: Int, rate: Int32 = 48000, channels: Int32 = 1, _ samples: [Float]
  ) throws -> String {
    let file = path + "/" + name
    var info = SF_INFO()
    (info.samplerate, info.channels, info.format) = (rate, channels, Int32(format))
    let sound = try #require(sf_open(file, Int32(SFM_WRITE), &info))
    #expect(
      sf_writef_float(sound, samples, Int64(samples.count) / Int64(channels)) == Int64(samples.count)
        / Int64(channels))
    sf_close(sound)
    return file
  }
}

struct SoundFileTests {
  private static let wav = Int(SF_FORMAT_WAV) | Int(SF_FORMAT_FLOAT)
  private static let flac = Int(SF_FORMAT_FLAC) | Int(SF_FORMAT_PCM_24)

  private func tone(_ count: Int, hertz: Float = 1000, rate: Float = 48000) -> [Float] {
    (0..<count).map { 0.5 * cosf(2 * .pi * hertz * Float($0) / rate) }
  }

  private func refusal(_ path: String) -> SoundFileError? {
    do throws(SoundFileError) {
      _ = try SoundFile(reading: path)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    wav, Int(SF_FORMAT_WAV) | Int(SF_FORMAT_PCM_16), Int(SF_FORMAT_WAVEX) | Int(SF_FORMAT_PCM_24), flac,
  ])
  func `the samples of WAV and FLAC files are read unchanged`(format: Int) throws {
    let folder = try ScratchFolder()
    let samples = tone(9000)
    let file = try SoundFile(reading: folder.sound("a", format: format, samples))
    #expect(file.sampleRate == 48000 && file.samples.count == 9000)
    #expect(zip(file.samples, samples).allSatisfy { abs($0 - $1) < 1e-4 })
  }

  @Test func `a sound file is mixed to mono, and non-finite samples become silence`() throws {
    let folder = try ScratchFolder()
    let path = try folder.sound(
      "a.wav", format: Self.wav, channels: 2, [0.5, 0.25, .nan, 0.5, .infinity, -.infinity, 1e30, 0])
    #expect(try SoundFile(reading: path).samples == [0.375, 0.25, 0, 4])
  }

  @Test(arguments: [(44100, 48000), (48000, 44100), (22050, 96000), (192_000, 44100), (48000, 48000)])
  func `resampling keeps a tone, its level and its first frame`(from: Int, to: Int) {
    let input = tone(from / 5, rate: Float(from))
    let output = SoundFile(samples: input, sampleRate: from).samples(at: to)
    #expect(abs(output.count - to / 5) <= 1)
    let expected = tone(output.count, rate: Float(to))
    // The ends of the tone are left out, because it is cut there.
    for index in to / 100..<output.count - to / 100 { #expect(abs(output[index] - expected[index]) < 0.005) }
    #expect(output[0] > 0.2 && output[output.count - 1] == 0)
  }

  @Test func `an impulse in a sound stays at its place when resampled`() throws {
    for (from, to) in [(44100, 48000), (48000, 44100), (96000, 48000)] {
      var input = [Float](repeating: 0, count: 4410)
      input[0] = 1
      input[2205] = 1
      let output = SoundFile(samples: input, sampleRate: from).samples(at: to)
      let loudest = try #require(output.indices.dropFirst(100).max { output[$0] < output[$1] })
      #expect(abs(Double(loudest) - 2205 * Double(to) / Double(from)) <= 0.5)
      #expect(output.firstIndex { $0 == output.prefix(100).max() } == 0)
    }
  }

  @Test func `an unusable sound file is refused with the reason`() throws {
    let folder = try ScratchFolder()
    let text = try folder.write("RIFF, but not really", to: "a.wav")
    #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
    let aiff = try folder.sound("a.aiff", format: Int(SF_FORMAT_AIFF) | Int(SF_FORMAT_PCM_16), tone(100))
    let empty = try folder.sound("empty.wav", format: Self.wav, [])
    let slow = try folder.sound("slow.wav", format: Self.wav, rate: 100, tone(100))
    let wide = try folder.sound("wide.wav", format: Self.wav, channels: 40, [Float](repeating: 0, count: 400))
    let long = try folder.sound("long.wav", format: Self.wav, rate: 4000, tone(40_001))
    let cases: [(String, String)] = [
      (folder.path + "/none.wav", "No such file"), (folder.path, "not a file"),
      (folder.path + "/pipe", "not a file"),
      ("/dev/zero", "not a file"), ("", "No such file"), (text, "no sound file"),
      (aiff, "neither WAV nor FLAC"),
      (empty, "nothing in it"), (slow, "100 frames a second"), (wide, "40 channels"),
      (long, "longer than 10 seconds"),
    ]
    for (path, reason) in cases {
      let error = try #require(refusal(path), "\(path)")
      #expect(error.description.contains(reason) && error.description.contains("\"\(path)\""), "\(error)")
    }
  }

  @Test(arguments: [wav, flac])
  func `a damaged sound file is read or refused, and never causes a crash`(format: Int) throws {
    let folder = try ScratchFolder()
    _ = try folder.sound("a", format: format, tone(2000))
    let bytes = try folder.bytes(of: "a")
    var dice = Dice(seed: 11)
    var refused = 0
    for round in 0..<300 {
      var damaged = bytes
      if round % 3 == 0 {
        damaged = Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &dice)))
      } else {
        // Most of the damaged bytes are in the header.
        for _ in 0..<8 {
          damaged[Int.random(in: 0..<min(80, bytes.count), using: &dice)] = .random(in: 0...255, using: &dice)
        }
      }
      let path = try folder.write(damaged, to: "b")
      do {
        let file = try SoundFile(reading: path)
        #expect(file.samples.allSatisfy { abs($0) <= 8 } && file.samples.count <= 10 * file.sampleRate)
      } catch {
        refused += 1
      }
    }
    #expect(refused > 20)
  }

  @Test func `refusing a sound file closes no descriptor of another thread`() async throws {
    let folder = try ScratchFolder()
    let text = try folder.write("RIFF, but not really", to: "a.wav")
    let counts = Counts()
    await withTaskGroup { group in
      group.addTask {
        while !counts.isDone.load(ordering: .relaxed) {
          let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
          for _ in 0..<20 where fcntl(descriptor, F_GETFD) < 0 { counts.lost.add(1, ordering: .relaxed) }
          close(descriptor)
          await Task.yield()
        }
      }
      group.addTask {
        for _ in 0..<20_000 where (try? SoundFile(reading: text)) != nil {
          counts.opened.add(1, ordering: .relaxed)
        }
        counts.isDone.store(true, ordering: .relaxed)
      }
    }
    #expect(counts.lost.load(ordering: .relaxed) == 0 && counts.opened.load(ordering: .relaxed) == 0)
  }

  private final class Counts: Sendable {
    let isDone = Atomic(false)
    let lost = Atomic(0)
    let opened = Atomic(0)
  }

  @Test func `a sound file replaces one built-in click sound`() throws {
    let file = SoundFile(samples: tone(500), sampleRate: 48000)
    let built = RenderedBank(.wood, sampleRate: 48000, number: 1).bank
    let mixed = RenderedBank(.wood, files: SoundFiles(beat: file), sampleRate: 48000, number: 2).bank
    #expect(mixed.beat.frames == 500 && built.beat.frames != 500)
    #expect(
      mixed.accent.frames == built.accent.frames && mixed.subdivision.frames == built.subdivision.frames)
  }
}
