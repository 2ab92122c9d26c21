// SPDX-License-Identifier: GPL-2.0-or-later
// The click on this device. Clicks are scheduled in advance on the audio clock, and again when the session
// changes, so that no click is missing or doubled.
import { on } from "./hands.js";
import { letterOf, swingOf } from "./session.js";

// The seconds for which clicks are placed ahead: in the background or on a busy device timers may run only
// once a second.
const ahead = 2.6;
// Seconds by which a click may be late after a change and still be played.
const late = 0.03;
const step = 50;
// In beats: a pair of eighth notes.
const longestPair = 1;

export class PhoneClick {
	isOn = false;
	isMuted = false;
	volume = 0.8;
	// Milliseconds by which we play early.
	offset = 0;
	settings = { pattern: "", subdivision: 1, when: "always" };
	swing = { next: swingOf("50/8"), from: -Infinity, before: swingOf("50/8") };
	scheduled = [];
	missed = 0;
	readings = [];
	lastBeat = -Infinity;
	// Beats from the last click to the next.
	spacing = 0;

	constructor(clock, session) {
		Object.assign(this, { clock, session });
		on(document, "visibilitychange", () => this.context?.state !== "running" && this.isOn && this.context?.resume());
	}

	// Call this only in response to a touch or a key: browsers let no page sound by itself.
	async turn(isOn) {
		this.isOn = isOn;
		if (!isOn) {
			this.takeBack(-Infinity);
			clearInterval(this.timer);
			await this.context?.suspend();
			return;
		}
		this.context ??= this.prepare();
		await this.context.resume();
		this.readings = [];
		this.lastBeat = -Infinity;
		clearInterval(this.timer);
		this.timer = setInterval(() => this.place(), step);
	}

	prepare() {
		const context = new AudioContext({ latencyHint: "interactive" });
		this.gain = context.createGain();
		this.gain.connect(context.destination);
		this.sounds = { X: blip(context, 1760, 1), x: blip(context, 1174, 0.7) };
		return context;
	}

	// The time on the audio clock for a sound that is to be heard at `local`, a time of this browser.
	audioTime(local) {
		return (local + this.base - this.offset) / 1000;
	}

	localTime(audio) {
		return audio * 1000 - this.base + this.offset;
	}

	read() {
		const { context } = this;
		const stamp = context.getOutputTimestamp?.();
		const base =
			stamp && stamp.performanceTime > 0 && stamp.contextTime > 0
				? stamp.contextTime * 1000 - stamp.performanceTime
				: (context.currentTime - (context.outputLatency || context.baseLatency || 0)) * 1000 - performance.now();
		// After a change of output or a sleep, earlier readings are of no use.
		if (this.readings.length > 0 && Math.abs(base - this.readings[this.readings.length - 1]) > 40) this.readings = [];
		this.readings.push(base);
		if (this.readings.length > 40) this.readings.shift();
		this.base = middle(this.readings);
	}

	get isWanted() {
		return this.settings.when === "always" || this.session.isMoving;
	}

	place() {
		const { context, session, clock } = this;
		if (!session.timeline || clock.hostAt(performance.now()) === null || context.state !== "running") return;
		this.read();
		if (this.readings.length < 3) return;
		this.gain.gain.value = this.isMuted ? 0 : this.volume;
		const now = context.currentTime;
		this.scheduled = this.scheduled.filter((one) => one.at > now - 1);
		if (!this.isWanted) return;
		const until = now + ahead;
		const each = this.settings.subdivision;
		// Swing delays a note by at most a quarter of a pair.
		let from = session.beatAt(clock.hostAt(this.localTime(now - late))) - longestPair / 4;
		for (;;) {
			const { beat, slot, spacing } = session.clickAt(from, each);
			const at = this.audioTime(clock.localOf(session.momentOf(this.heardBeat(beat))));
			if (at > until) return;
			from = beat + spacing / 2;
			if (at < now - late || beat < this.lastBeat + spacing / 4) continue;
			this.countMissed(beat, Math.max(spacing, this.spacing));
			[this.lastBeat, this.spacing] = [beat, spacing];
			const letter = letterOf(this.settings.pattern, slot);
			if (this.sounds[letter]) this.sound(letter, beat, Math.max(at, now));
		}
	}

	heardBeat(beat) {
		return this.session.swung(beat, beat < this.swing.from ? this.swing.before : this.swing.next);
	}

	// A new swing begins with the next pair of notes, so no click of a pair is lost or heard twice.
	setSwing(swing) {
		const host = this.session.timeline && this.clock.hostAt(performance.now());
		const from = host ? Math.ceil(this.session.beatAt(host) / longestPair) * longestPair : -Infinity;
		this.swing = { next: swingOf(swing), from, before: this.swing.next };
		this.revise();
	}

	// Counts the clicks for which the page did not run in time.
	countMissed(beat, spacing) {
		const away = beat - this.lastBeat;
		if (this.lastBeat > -Infinity && away > 1.5 * spacing) this.missed += Math.round(away / spacing) - 1;
	}

	sound(letter, beat, at) {
		const node = this.context.createBufferSource();
		node.buffer = this.sounds[letter];
		node.connect(this.gain);
		node.start(at);
		this.scheduled.push({ node, beat, at });
	}

	// Places the clicks again after a change of the session, the clock or the pattern. `isOther`: the beats were
	// renumbered.
	revise(isOther = false) {
		if (!this.isOn || !this.context) return;
		this.takeBack(this.context.currentTime + 0.004);
		const kept = this.scheduled[this.scheduled.length - 1];
		if (isOther) this.swing.from = -Infinity;
		if (isOther || !kept) this.lastBeat = -Infinity;
		else this.lastBeat = Math.min(this.lastBeat, kept.beat);
		this.place();
	}

	takeBack(from) {
		for (const one of this.scheduled) if (one.at >= from) one.node.stop();
		this.scheduled = this.scheduled.filter((one) => one.at < from);
	}
}

// A short tone with a sharp attack.
function blip(context, frequency, level) {
	const rate = context.sampleRate;
	const buffer = context.createBuffer(1, Math.ceil(rate * 0.06), rate);
	const samples = buffer.getChannelData(0);
	for (let n = 0; n < samples.length; n += 1) {
		const time = n / rate;
		samples[n] = level * Math.sin(2 * Math.PI * frequency * time + Math.PI / 2) * Math.exp(-time * 70);
	}
	return buffer;
}

// Measures how late this device is heard, by tapping: first to the sound in the room, then to this device.
// The delay of finger and glass is in both steps and cancels out.
export class Calibration {
	static taps = 24;
	static unused = 4;
	steps = [[], []];
	step = 0;

	constructor(clock, session) {
		Object.assign(this, { clock, session });
	}

	get left() {
		return Calibration.taps - this.steps[this.step].length;
	}

	// `at`: this browser's time. Returns true when the step is complete.
	tap(at) {
		const { session, clock } = this;
		const taps = this.steps[this.step];
		this.length = 60e3 / session.timeline.tempo;
		// Compare with the tap before: a late tap must not count as early for the next beat.
		taps.push(near(session.beatAt(clock.hostAt(at)) * this.length, taps[taps.length - 1] ?? 0, this.length));
		return this.left === 0;
	}

	// The milliseconds by which this device must play early, from -1/4 to 3/4 of a beat. `offset`: the
	// milliseconds by which it plays early now.
	result(offset) {
		const [room, device] = this.steps.map((taps) => steady(taps.slice(Calibration.unused)));
		return near(offset + device - room, this.length / 4, this.length);
	}
}

// The value, shifted by whole lengths to be nearest to the place.
function near(value, place, length) {
	return value - Math.round((value - place) / length) * length;
}

// The mean without outliers: a finger is always a little off, and seldom far.
function steady(values) {
	const sorted = values.slice().sort((a, b) => a - b);
	const cut = sorted.length >> 3;
	const most = sorted.slice(cut, sorted.length - cut);
	return most.reduce((sum, value) => sum + value, 0) / Math.max(1, most.length);
}

function middle(values) {
	const sorted = values.slice().sort((a, b) => a - b);
	const half = sorted.length >> 1;
	return sorted.length % 2 ? sorted[half] : (sorted[half] + sorted[half - 1]) / 2;
}
