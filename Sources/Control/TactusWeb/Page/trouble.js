// SPDX-License-Identifier: GPL-2.0-or-later
// Finds faults in tactus' values and describes them in plain words.
import { make } from "./desk.js";

const recent = 60_000;

export class Trouble {
	counted = new Map();
	found = [];

	// Calls shown(findings) on each change.
	constructor(desk, shown) {
		Object.assign(this, { desk, shown });
		for (const path of ["jack/connected", "osc/str", "web/str", "lead", "lead/str", "lead/midi/str", "jack/timebase/str", "link", "link/active"]) {
			desk.watch(path, () => this.look());
		}
		for (const path of ["jack/xruns", "jack/lost"]) desk.watch(path, ([count]) => this.count(path, count));
		setInterval(() => this.look(), 5000);
	}

	// Only events of the last minute count.
	count(path, count) {
		const one = this.counted.get(path) ?? { last: count, times: [] };
		if (count > one.last) one.times.push([performance.now(), count - one.last]);
		one.last = count;
		this.counted.set(path, one);
		this.look();
	}

	lately(path) {
		const one = this.counted.get(path);
		if (!one) return 0;
		one.times = one.times.filter(([time]) => performance.now() - time < recent);
		return one.times.reduce((sum, [, count]) => sum + count, 0);
	}

	look() {
		const value = (path, otherwise) => this.desk.value(path, otherwise);
		const bad = [];
		const say = (words, remedy) => bad.push({ grade: "bad", words, remedy });
		if (value("jack/connected", 1) === 0) say("JACK's server is not there: nothing sounds.", "tactus comes back by itself when the server runs.");
		const late = this.lately("jack/xruns");
		if (late > 0) say(`The audio came late ${late === 1 ? "once" : `${late} times`} in the last minute.`, "A longer period, or less work for the computer, helps.");
		const lost = this.lately("jack/lost");
		if (lost > 0) say(`tactus missed ${lost} audio ${lost === 1 ? "cycle" : "cycles"} in the last minute.`);
		const leads = value("lead", "link");
		const midi = String(value("lead/midi/str", ""));
		if (leads === "midi" && /^(silent|lost)/.test(midi)) say(`The MIDI clock that is to lead is ${midi}.`, "Connect a sequencer to the port control, and start it.");
		if (leads === "midi" && midi.startsWith("echo")) say("The MIDI clock that is to lead is tactus' own.", "Take the cable from clock to control away.");
		const master = String(value("jack/timebase/str", ""));
		if (leads === "link" && !["", "nobody"].includes(master) && !master.startsWith("tactus")) {
			say(`The session leads, but ${master} is timebase master: JACK's programs get its bars and tempo.`, "Take the timebase over, or let auto lead.");
		}
		// The open addresses come first; the missing ones follow behind semicolons.
		for (const path of ["osc/str", "web/str"])
			for (const part of String(value(path, "")).split("; ").slice(1))
				if (!part.startsWith("http")) say(`An address is missing: ${part}.`, "tactus tries again every two seconds.");
		const told = JSON.stringify(bad);
		if (told === this.told) return;
		this.told = told;
		this.found = bad;
		this.shown(bad);
	}
}

export function findingElement({ grade, topic, words, remedy }) {
	const text = make("span", {}, topic ? `${topic}: ${words}` : words);
	if (remedy) text.append(make("small", {}, remedy));
	return make(`li.finding ${grade}`, {}, text);
}
