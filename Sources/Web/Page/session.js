// SPDX-License-Identifier: GPL-2.0-or-later
// The session's line of beats and the song on it, as the feeds `timeline` and `song` tell them. Pure.

export class Session {
	timeline = null;
	song = { state: "stopped", beats: 0 };
	meter = 4;

	setTimeline([tempo, beat, moment, quantum]) {
		this.timeline = { tempo, beat, moment, quantum };
	}

	setSong([state, beats, bars = beats]) {
		this.song = { state, beats: bars };
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

	// Where the count of the shown beats begins, and how many make a bar: the song's while it moves, else the session's own.
	get origin() {
		return this.isMoving ? this.song.beats : 0;
	}

	get barLength() {
		return Math.max(1, Math.trunc(this.isMoving ? this.meter : this.timeline?.quantum ?? this.meter));
	}

	// All that is drawn of a moment.
	at(host) {
		const session = this.beatAt(host);
		const shown = session - this.origin;
		const length = this.barLength;
		const inBar = modulo(shown, length);
		const { state, beats } = this.song;
		const song = this.isMoving ? shown : beats;
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
