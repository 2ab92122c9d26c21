// SPDX-License-Identifier: GPL-2.0-or-later
// An estimate of tactus' clock, from pings. Pure: times come in as arguments.
//
// tactus reads its clock, `host`, between our `sent` and `heard`. The smallest host - sent and the largest
// host - heard are the walls of a corridor. Its middle is the difference of the clocks, half its width bounds
// the error. The clocks' rates differ, so the corridor may lean.

export const limits = {
	samples: 90,
	age: 90_000,
	leanFrom: 15_000,
	lean: 500e-6,
	usualLean: 50e-6,
	jump: 30,
	blend: 1000,
};

// The corridor's walls at the time `at`, if it leans by `lean` (milliseconds per millisecond).
function walls(samples, lean, at) {
	let upper = Infinity;
	let lower = -Infinity;
	for (const { sent, host, heard } of samples) {
		const turn = lean * (at - (sent + heard) / 2);
		upper = Math.min(upper, host - sent + turn);
		lower = Math.max(lower, host - heard + turn);
	}
	return { upper, lower, width: upper - lower };
}

// The lean with the widest corridor, by ternary search. A steep lean must widen the corridor enough:
// otherwise a few quick pings would cause a steep lean.
function bestLean(samples, at) {
	if (samples[samples.length - 1].heard - samples[0].sent < limits.leanFrom) return 0;
	const usual = Math.max(walls(samples, 0, at).width, 0) / limits.usualLean ** 2 / 4;
	const worth = (lean) => walls(samples, lean, at).width - usual * lean * lean;
	let [low, high] = [-limits.lean, limits.lean];
	for (let step = 0; step < 40; step += 1) {
		const [a, b] = [low + (high - low) / 3, high - (high - low) / 3];
		if (worth(a) < worth(b)) low = a;
		else high = b;
	}
	return (low + high) / 2;
}

// { offset, lean, error } at the time `at`; null without a sample.
export function estimate(samples, at) {
	if (samples.length === 0) return null;
	const lean = bestLean(samples, at);
	const { upper, lower, width } = walls(samples, lean, at);
	return { offset: (upper + lower) / 2, lean, error: Math.max(width, 0) / 2, fits: width >= -0.5, at };
}

export class Clock {
	samples = [];
	line = null;
	blendFrom = 0;
	blendBy = 0;
	roundTrip = NaN;

	add(sent, host, heard) {
		if (!(heard >= sent) || !Number.isFinite(host)) return;
		this.roundTrip = heard - sent;
		this.samples.push({ sent, host, heard });
		this.samples = this.samples.filter((one) => heard - one.heard < limits.age).slice(-limits.samples);
		let next = estimate(this.samples, heard);
		if (!next.fits) {
			// No straight line fits: one of the clocks slept, or this is another machine. Keep the newest sample only.
			this.samples = this.samples.slice(-1);
			next = estimate(this.samples, heard);
		}
		this.follow(next, heard);
	}

	// The shown time does not jump: a small correction is spread over a second.
	follow(next, now) {
		const was = this.line && this.offsetAt(now);
		this.line = next;
		const by = was === null ? Infinity : was - next.offset;
		this.blendBy = Math.abs(by) < limits.jump ? by : 0;
		this.blendFrom = now;
	}

	offsetAt(now) {
		if (!this.line) return null;
		return this.line.offset + this.line.lean * (now - this.line.at) + this.blended(now);
	}

	blended(now) {
		return this.blendBy * Math.max(0, 1 - (now - this.blendFrom) / limits.blend);
	}

	// tactus' time in microseconds; null before the first answer.
	hostAt(now) {
		const offset = this.offsetAt(now);
		return offset === null ? null : (now + offset) * 1000;
	}

	// This browser's time for a time of tactus.
	localOf(host) {
		let local = host / 1000 - this.line.offset;
		for (let round = 0; round < 2; round += 1) local = host / 1000 - this.offsetAt(local);
		return local;
	}

	// Possible error of the shown time in milliseconds; it grows while no answer comes.
	errorAt(now) {
		if (!this.line) return null;
		return this.line.error + Math.abs(this.blended(now)) + Math.max(0, now - this.line.at) * 20e-6;
	}

	// A new connection may lead to another machine. The old estimate holds until the new machine has answered.
	renew() {
		this.samples = [];
	}
}
