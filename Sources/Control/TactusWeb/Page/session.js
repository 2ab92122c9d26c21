// SPDX-License-Identifier: GPL-2.0-or-later
// The session's timeline and the song on it, from the feeds `timeline` and `song`. Pure.

export class Session {
	timeline = null;
	song = { state: "stopped", beats: 0, bars: null, next: null };
	meter = 4;
	unit = 4;

	setTimeline([tempo, beat, moment, quantum]) {
		this.timeline = { tempo, beat, moment, quantum };
	}

	// After a change of meter the message has the beat from which bars are counted, and the meter. While a meter
	// waits for its bar line, it has that line and the next meter, too.
	setSong([state, beats, from, count, unit, line, nextCount, nextUnit]) {
		const bars = from === undefined ? null : { from, count, unit };
		const next = line === undefined ? null : { line, count: nextCount, unit: nextUnit };
		this.song = { state, beats, bars, next };
	}

	setMeter([count, unit]) {
		this.meter = count;
		this.unit = unit;
	}

	// The session's beat at a time of tactus, in microseconds.
	beatAt(host) {
		const { tempo, beat, moment } = this.timeline;
		return beat + ((host - moment) * tempo) / 60e6;
	}

	momentOf(beat) {
		const line = this.timeline;
		return line.moment + ((beat - line.beat) * 60e6) / line.tempo;
	}

	get isMoving() {
		return this.song.state !== "stopped";
	}

	// The bars at a beat of the session: the song's while it moves, otherwise those of the common grid. `from`:
	// the beat from which they are counted. `count` notes make a bar, and `unit` is the note's value; a beat is
	// a quarter.
	barsAt(beat) {
		const bars = this.isMoving ? this.songBarsAt(beat) : this.standingBars;
		return { ...bars, perBeat: bars.unit / 4 };
	}

	songBarsAt(beat) {
		const { beats, bars, next } = this.song;
		const here = bars ?? { from: beats, count: this.meter, unit: this.unit };
		if (!next || beat < next.line - 1e-6) return here;
		// Count bars on through the change of meter.
		const before = Math.round(((next.line - here.from) * here.unit) / 4 / here.count);
		return { from: next.line - (before * next.count * 4) / next.unit, count: next.count, unit: next.unit };
	}

	get standingBars() {
		const bar = (this.meter * 32) / this.unit;
		const grid = Math.round((this.timeline?.quantum ?? 0) * 8);
		const note = Math.min(8, grid & -grid);
		const fits = grid <= 0 || grid % bar === 0 || bar % grid === 0 || grid / note > 64;
		return fits ? { from: 0, count: this.meter, unit: this.unit } : { from: 0, count: grid / note, unit: 32 / note };
	}

	// The first click at or after a beat, if a note has `each` clicks. Returns its beat, its slot in the bar,
	// and the distance to the next click.
	clickAt(from, each) {
		const bars = this.barsAt(from);
		const rate = bars.perBeat * each;
		const number = Math.ceil((from - bars.from) * rate - 1e-6);
		const beat = bars.from + number / rate;
		const line = this.isMoving && this.song.next ? this.song.next.line : Infinity;
		if (from < line - 1e-6 && beat > line - 1e-6) return this.clickAt(line, each);
		return { beat, slot: modulo(number, bars.count * each), spacing: 1 / rate };
	}

	// The session's beat at which a note is heard that is written at `beat`, with a swing from `swingOf`. Pairs
	// count from the session's beats. If the bar is no whole number of pairs, the notes are straight.
	swung(beat, { pair, first }) {
		const bars = this.barsAt(beat);
		if (((bars.count * 4) / bars.unit) % pair !== 0) return beat;
		const begin = Math.floor(beat / pair) * pair;
		const inside = beat - begin;
		return begin + (inside < pair / 2 ? inside * first : pair - (pair - inside) * (2 - first));
	}

	// All values to draw at a time of tactus.
	at(host) {
		const now = this.beatAt(host);
		const { from, count: length, perBeat } = this.barsAt(now);
		const shown = (now - from) * perBeat;
		const inBar = modulo(shown, length);
		const { state, beats } = this.song;
		const place = this.isMoving ? shown : (beats * this.unit) / 4;
		return {
			shown,
			length,
			inBar,
			beat: Math.floor(inBar),
			part: inBar - Math.floor(inBar),
			bar: Math.floor(place / (this.isMoving ? length : this.meter)) + 1,
			wait: state === "waiting" ? Math.max(0, (beats - now) * perBeat) : 0,
		};
	}
}

export function modulo(value, length) {
	return ((value % length) + length) % length;
}

// A swing from its text, as "58/16": the percent of a pair of notes that the first note gets, and the note.
// `pair`: the pair's length in beats. `first`: the share of the first note, as a multiple of half the pair.
export function swingOf(text) {
	const [percent, note] = text.split("/").map(Number);
	return { pair: 8 / note, first: percent / 50 };
}

// The letter for a click of the bar. A short pattern repeats, and starts again with each bar.
export function letterOf(pattern, slot) {
	if (!pattern) return slot === 0 ? "X" : "x";
	return pattern[slot % pattern.length];
}
