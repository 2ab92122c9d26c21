// SPDX-License-Identifier: GPL-2.0-or-later
// The session's line of beats and the song on it, as the feeds `timeline` and `song` tell them. Pure.

export class Session {
	timeline = null;
	song = { state: "stopped", beats: 0 };
	meter = 4;
	unit = 4;

	setTimeline([tempo, beat, moment, quantum]) {
		this.timeline = { tempo, beat, moment, quantum };
	}

	setSong([state, beats, bars = beats]) {
		this.song = { state, beats: bars };
	}

	setMeter([count, unit]) {
		this.meter = count;
		this.unit = unit;
	}

	// The session's beat at tactus' time, in microseconds.
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

	// Where the count of what is shown begins: the song's while it moves, else the session's own.
	get origin() {
		return this.isMoving ? this.song.beats : 0;
	}

	// A beat of the session's is a quarter. Shown are the notes of the meter; where a grid of its own is shown, quarters.
	get showsMeter() {
		return this.isMoving || !this.timeline || this.timeline.quantum === (this.meter * 4) / this.unit;
	}

	get notesPerBeat() {
		return this.showsMeter ? this.unit / 4 : 1;
	}

	// How many of them make a bar.
	get barLength() {
		return Math.max(1, Math.trunc(this.showsMeter ? this.meter : this.timeline.quantum));
	}

	// All that is drawn of a moment.
	at(host) {
		const shown = (this.beatAt(host) - this.origin) * this.notesPerBeat;
		const length = this.barLength;
		const inBar = modulo(shown, length);
		const { state, beats } = this.song;
		const song = this.isMoving ? shown : (beats * this.unit) / 4;
		return {
			shown,
			length,
			inBar,
			beat: Math.floor(inBar),
			part: inBar - Math.floor(inBar),
			bar: Math.floor(song / this.meter) + 1,
			wait: state === "waiting" ? Math.max(0, -shown) : 0,
		};
	}
}

export function modulo(value, length) {
	return ((value % length) + length) % length;
}

// One letter for each click of the bar; fewer letters repeat, and begin again with each bar.
export function letterOf(pattern, slot) {
	if (!pattern) return slot === 0 ? "X" : "x";
	return pattern[slot % pattern.length];
}
