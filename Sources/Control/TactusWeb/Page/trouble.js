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
		for (const path of ["jack/connected", "osc/missing", "web/missing", "lead", "lead/midi/state", "jack/timebase/kind"]) {
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
		if (value("jack/connected", 1) === 0) say("The JACK server does not run: nothing sounds.", "tactus reconnects by itself when the server runs.");
		const late = this.lately("jack/xruns");
		if (late > 0) say(`The audio came late ${late === 1 ? "once" : `${late} times`} in the last minute.`, "Choose a longer period in JACK, or close other programs.");
		const lost = this.lately("jack/lost");
		if (lost > 0) say(`tactus missed ${lost} audio ${lost === 1 ? "cycle" : "cycles"} in the last minute.`);
		const leads = value("lead", "link");
		const midi = value("lead/midi/state", "off");
		if (leads === "midi" && ["silent", "lost"].includes(midi)) say(`The MIDI clock should lead, but it is ${midi}.`, "Connect a sequencer to the port 'control', and start the sequencer.");
		if (leads === "midi" && midi === "echo") say("The MIDI clock that leads is tactus' own, looped back.", "Disconnect the port clock from the port control.");
		const [kind, master] = this.desk.values.get("jack/timebase/kind") ?? [];
		if (leads === "link" && kind === "other") {
			say(`tactus follows the Link session, but ${master} is timebase master: JACK's programs get bars and tempo from ${master}.`, "Take the timebase, or set Lead to auto.");
		}
		for (const path of ["osc/missing", "web/missing"]) {
			const [, ...reasons] = this.desk.values.get(path) ?? [];
			for (const reason of reasons) say(`An address could not be opened: ${reason}.`, "tactus tries again every two seconds.");
		}
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
