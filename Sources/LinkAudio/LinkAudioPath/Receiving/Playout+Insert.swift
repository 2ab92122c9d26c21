// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

// Decides whether a received chunk belongs to the stream, and at which place its samples belong.

extension Playout {
  /// Limit in frames. Up to this error a stamp corrects the line; after a larger error the chunk is moved.
  static var roundingFrames: Double { 64 }
  /// Limit in microseconds. A stamp with a larger error belongs to another stream.
  static var longestGap: Double { 250_000 }
  /// Limit in microseconds. If a sender measures its clock again, its stamps step by less than this.
  static var farthestStep: Double { 5000 }
  /// The longest gap in a stream, in chunks.
  static var mostMissing: Int64 { 4096 }

  /// A chunk's place, and the time of its first frame's beat; `stamp` is nil if we do not know its tempo.
  struct ChunkPlacement: BitwiseCopyable {
    var place: Int64
    var stamp: Double?
    /// Whether the chunk extends the stream at its end.
    var isNewest: Bool
  }

  /// Takes a chunk. `samples` holds at least the chunk's samples, interleaved. [audio]
  #if APART
    // If files are compiled one by one, the compiler cannot check calls into others; our builds check them.
    @_semantics("no_performance_analysis")
  #else
    @_noLocks @_noAllocation
  #endif
  package mutating func insert(
    _ chunk: AudioChunk, samples: UnsafeBufferPointer<Float>, _ hearing: OutputPeriod
  ) {
    guard hearing.isUsable else { return }
    attend(hearing)
    guard chunk.isSound(samples: samples.count), chunk.session == hearing.grid.session else {
      figures.refused &+= 1
      return
    }
    if isOpen, let last, chunk.isAlike(last) {
      if let known = journal.entry(chunk.number) {
        // A sender that restarted may use an old number for another chunk.
        if known.frames == Int64(chunk.frames) && isNear(chunk, known.place, hearing) {
          figures.duplicated &+= 1
          return
        }
      } else if let seat = seat(for: chunk, hearing), hasRoom(seat, chunk, hearing) {
        candidate = nil
        accept(chunk, samples, at: seat, hearing)
        return
      }
    }
    audition(chunk, samples, hearing)
  }

  /// Whether a chunk's stamp fits a place; true if we do not know the chunk's tempo.
  private func isNear(_ chunk: AudioChunk, _ place: Int64, _ hearing: OutputPeriod) -> Bool {
    let expected = course.time(at: place)
    guard let stamp = grids.time(of: chunk.stamp, expected: expected, at: hearing.start) else { return true }
    return abs(stamp - expected) <= Self.longestGap
  }

  private mutating func seat(for chunk: AudioChunk, _ hearing: OutputPeriod) -> ChunkPlacement? {
    let distance = journal.distance(of: chunk.number)
    if distance <= 0 { return seatBetween(chunk, hearing) }
    guard distance <= Self.mostMissing, let newest = journal.entry(journal.newest) else { return nil }
    let counted = newest.end &+ missing(distance - 1, after: newest)
    let expected = course.time(at: counted)
    guard let stamp = grids.time(of: chunk.stamp, expected: expected, at: hearing.start) else {
      // The chunk's tempo is not known yet, so only its number can be checked.
      return distance < Int64(Journal.capacity)
        ? ChunkPlacement(place: counted, stamp: nil, isNewest: true) : nil
    }
    guard abs(stamp - expected) <= Self.longestGap else { return nil }
    let tolerance = distance == 1 ? Self.roundingFrames : countedFrames()
    let place = place(of: chunk, stamp, by: newest, counted, within: tolerance, hearing)
    guard Double(place &- newest.end) * course.frameMicros <= 4 * Self.longestGap else { return nil }
    return ChunkPlacement(place: place, stamp: stamp, isNewest: true)
  }

  /// Returns `counted`, the place as counted from a known chunk. If the chunk's stamp gives a place that is
  /// more than `frames` away from `counted`, both by the line and by the known chunk's stamp, returns that
  /// place.
  ///
  /// The line alone is not enough: after our clock was measured again, the line is wrong for many seconds.
  /// The difference of two stamps has neither this error nor that of the sender's clock. But at a jump of a
  /// reckoner's stamps (`StampRuns`), the stamp before the jump is wrong, and the next is right.
  private func place(
    of chunk: AudioChunk, _ stamp: Double, by known: Journal.Entry, _ counted: Int64, within frames: Double,
    _ hearing: OutputPeriod
  ) -> Int64 {
    let onLine = Int64(rounding: course.place(at: stamp))
    var stamped = onLine
    if known.stamp.microsPerBeat == chunk.microsPerBeat,
      let other = grids.time(of: known.stamp, expected: course.time(at: known.place), at: hearing.start)
    {
      stamped = known.place &+ Int64(rounding: (stamp - other) / course.frameMicros)
    }
    let apart = min(abs(Double(stamped &- counted)), abs(Double(onLine &- counted)))
    if apart <= frames { return counted }
    return runs.isReckoner ? onLine : stamped
  }

  /// The number of frames of `count` missing chunks together.
  private mutating func missing(_ count: Int64, after known: Journal.Entry) -> Int64 {
    journal.lengths.sum(of: count, from: known.number &+ 1, usual: known.frames)
  }

  /// The error of a stamp, in frames, from which on the stamp overrules a count over missing chunks. It is 0
  /// if the chunks' lengths have no pattern; otherwise only an error beyond the noise overrules the count.
  private mutating func countedFrames() -> Double {
    journal.lengths.areKnown ? max(8, noise.limit / course.frameMicros) : 0
  }

  /// The place of a chunk that came after later chunks, found from the chunk with the nearest number.
  private mutating func seatBetween(_ chunk: AudioChunk, _ hearing: OutputPeriod) -> ChunkPlacement? {
    guard journal.distance(of: chunk.number) > -Int64(Journal.capacity),
      let known = journal.nearest(to: chunk.number)
    else { return nil }
    let distance = Int64(bitPattern: chunk.number &- known.number)
    var seat = known.end &+ missing(distance - 1, after: known)
    if distance < 0 {
      let between = journal.lengths.sum(of: -distance - 1, from: chunk.number &+ 1, usual: known.frames)
      seat = known.place &- between &- Int64(chunk.frames)
    }
    let stamp = grids.time(of: chunk.stamp, expected: course.time(at: seat), at: hearing.start)
    if abs(distance) > 1, let stamp {
      seat = place(of: chunk, stamp, by: known, seat, within: countedFrames(), hearing)
    }
    guard isNear(chunk, seat, hearing) else { return nil }
    return ChunkPlacement(place: seat, stamp: nil, isNewest: false)
  }

  /// Whether the chunk fits into the ring, so that it overwrites no sample that is still to be played.
  private func hasRoom(_ seat: ChunkPlacement, _ chunk: AudioChunk, _ hearing: OutputPeriod) -> Bool {
    let now = head.isPlaying ? head.place : course.place(at: hearing.heard - delayNow)
    let ahead = Double(seat.place) + Double(chunk.frames) - now
    return abs(ahead) < Double(ring.longestAhead)
  }

  private mutating func accept(
    _ chunk: AudioChunk, _ samples: UnsafeBufferPointer<Float>, at seat: ChunkPlacement,
    _ hearing: OutputPeriod
  ) {
    figures.received &+= 1
    if seat.isNewest {
      figures.lost &+= UInt64(max(0, journal.distance(of: chunk.number) - 1))
      if let stamp = seat.stamp { measure(chunk, at: seat.place, stamp) } else { runs.cut() }
      last = chunk
    } else if figures.lost > 0 && seat.place >= ring.floor {
      figures.lost &-= 1
    }
    journal.add(chunk, at: seat.place)
    noteArrival(chunk, at: seat, hearing)
    var first = seat.place
    if head.isPlaying && seat.place < concealment.mark {
      figures.late &+= 1
      if !waitLonger(for: seat.place, hearing) { first = concealment.mark }
    }
    ring.write(
      samples, channels: Int(chunk.channels), frames: Int(chunk.frames), at: seat.place, from: first,
      fade: Int(chunk.sampleRate) / 400)
  }

  /// Corrects the line by the chunk's stamp, if the sender measured that stamp.
  private mutating func measure(_ chunk: AudioChunk, at place: Int64, _ stamp: Double) {
    guard let last, let newest = journal.entry(journal.newest), last.microsPerBeat == chunk.microsPerBeat
    else { return begin(at: place, stamp) }
    let missing = journal.distance(of: chunk.number) - 1
    let residual = chunk.begin &- last.begin &- chunk.nominalMicrobeats(frames: place &- newest.place)
    let beatMicros = Double(chunk.microsPerBeat) * 1e-6
    if missing == 0 && place != newest.end || abs(Double(residual) * beatMicros) > Self.farthestStep {
      // Samples are missing, or a peer moved the session's beats: this stamp does not continue the last one.
      return begin(at: place, stamp)
    }
    let frames = Double(place &- newest.place)
    let micros = frames * course.frameMicros
    switch runs.read(residual, missing: missing, micros: micros) {
    case .plain:
      let beats = Double(chunk.begin &- last.begin)
      judge(at: place, stamp, later: beats * beatMicros - micros, after: micros)
    case .reckoned: noise.cut()
    case .anew(let isFirst):
      if isFirst { course.restart(at: place, stamp, &past) } else { course.measure(at: place, stamp, &past) }
    }
  }

  /// Begins a new run of stamps with this stamp, which does not continue the earlier stamps.
  private mutating func begin(at place: Int64, _ stamp: Double) {
    runs.cut()
    noise.cut()
    course.measure(at: place, stamp, &past)
  }

  /// Uses a stamp that the sender measured. The line averages such stamps, unless all have moved at once.
  private mutating func judge(at place: Int64, _ stamp: Double, later micros: Double, after elapsed: Double) {
    switch noise.read(micros, error: stamp - course.time(at: place), micros: elapsed) {
    case .fits: course.follow(at: place, stamp, &past)
    case .apart: break
    case .moved(let micros): course.step(by: micros)
    }
  }

  private mutating func noteArrival(_ chunk: AudioChunk, at seat: ChunkPlacement, _ hearing: OutputPeriod) {
    let time = course.time(at: seat.place)
    var arrival = Double(chunk.arrival)
    // If the time of arrival is impossible, use the time of this period.
    if abs(arrival - hearing.start) > 2e6 { arrival = hearing.start }
    let offset = arrival - time
    heardOfAt = hearing.start
    if figures.received > 1 {
      let change = abs(offset - lastOffset) / 1000
      figures.jitter += (min(change, 1000) - figures.jitter) / 16
    }
    lastOffset = offset
    figures.arrivalOffset = offset / 1000
    // A chunk that is too late for any possible delay does not show which delay we need.
    let wait = offset + hearing.micros
    if wait + hearing.latencyMicros + lookahead <= longestAdaptive(hearing) {
      lateness.add(wait, at: hearing.start)
    }
  }

  /// Lengthens the adaptive delay after a chunk came too late. Returns false if the delay is not adaptive or
  /// would have to be too long.
  private mutating func waitLonger(for place: Int64, _ hearing: OutputPeriod) -> Bool {
    guard isAdaptive else { return false }
    let needed = hearing.heard - course.time(at: place) + lookahead
    let wanted = max(needed, delayWanted(hearing))
    guard needed > delayNow, wanted <= longestAdaptive(hearing) else { return false }
    fadeOut()
    head.stop()
    delayNow = wanted
    figures.reseats &+= 1
    return true
  }

  /// Takes a chunk that does not fit the stream. If the next chunk continues this one, a new stream begins.
  /// One chunk alone may be old: after a pause, the reference sends up to a second of audio with stamps in
  /// the past.
  private mutating func audition(
    _ chunk: AudioChunk, _ samples: UnsafeBufferPointer<Float>, _ hearing: OutputPeriod
  ) {
    guard let stamp = grids.time(of: chunk.stamp, expected: nil, at: hearing.start),
      isInTime(stamp, chunk, hearing)
    else {
      figures.refused &+= 1
      candidate = nil
      return
    }
    defer { candidate = chunk }
    guard let first = candidate, first.isAlike(chunk),
      let earlier = grids.time(of: first.stamp, expected: stamp, at: hearing.start)
    else { return }
    let distance = Int64(bitPattern: chunk.number &- first.number)
    let frames = Double(distance) * Double(first.frames)
    let wrong = stamp - earlier - frames * 1e6 / Double(chunk.sampleRate)
    let tolerance = Double(distance) * Self.roundingFrames * 1e6 / Double(chunk.sampleRate)
    // At most one stream begins in a period, because a stream's first chunk takes more time than later
    // chunks.
    let isJustBegun = isOpen && openedAt == hearing.start
    guard distance > 0, distance <= 8, abs(wrong) <= tolerance, !isJustBegun else { return }
    open(chunk, samples, at: stamp, hearing)
    candidate = nil
  }

  private mutating func isInTime(_ stamp: Double, _ chunk: AudioChunk, _ hearing: OutputPeriod) -> Bool {
    let room = Double(ring.longestAhead) * 1e6 / Double(chunk.sampleRate)
    let late = hearing.heard - stamp
    let wanted = delayWanted(hearing)
    let longest =
      isAdaptive ? Playout.longestWait + hearing.latencyMicros + 2 * hearing.micros : wanted
    return late <= longest && wanted - late <= room
  }

  private mutating func open(
    _ chunk: AudioChunk, _ samples: UnsafeBufferPointer<Float>, at stamp: Double, _ hearing: OutputPeriod
  ) {
    close()
    ring.begin()
    isOpen = true
    isListening = true
    last = nil
    outputRate = hearing.sampleRate
    reach = Reach(streamRate: chunk.sampleRate, outputRate: outputRate)
    past = StreamClockHistory()
    course = StreamClock(place: ring.end, time: stamp, sampleRate: chunk.sampleRate)
    runs = StampRuns()
    noise = StampNoise()
    lateness = JitterEstimate()
    openedAt = hearing.start
    figures.streams &+= 1
    figures.sampleRate = chunk.sampleRate
    figures.channels = chunk.channels
    journal.begin(chunk, at: ring.end)
    accept(chunk, samples, at: ChunkPlacement(place: ring.end, stamp: nil, isNewest: true), hearing)
    last = chunk
  }
}
