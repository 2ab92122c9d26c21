// SPDX-License-Identifier: GPL-2.0-or-later
// Sound, Link and All settings, made from the table's rows.
import { lineOf } from "./controls.js";
import { $, make, refuse, tell } from "./desk.js";
import { card, pageCard, phoneClickCard } from "./device.js";
import { on } from "./hands.js";
import { patternEditor } from "./pattern.js";
import { buttonOf, rowsOf } from "./rows.js";
import { findingElement } from "./trouble.js";

// Title: address Name, address Name. What has no title is made by a function of that name.
const soundCards = `
Click: click Click, click/volume Volume, click/sound Sound, pattern, click/subdivision Clicks per beat, click/when It plays, count/in Count-in
phone
MIDI clock: clock MIDI clock, clock/when It is sent, clock/offset Earlier by, clock/settle Time to settle, clock/latency JACK's latency
Pulses: pulse Pulses, pulse/rate Per beat, pulse/offset Earlier by, run/offset Run gate earlier by, pulse/latency JACK's latency, run/latency Run gate's latency
In time with the room: click/offset Click earlier by, click/2/offset Second click earlier by, click/1/latency Click's latency, click/2/latency Second click's latency, jack/offset JACK earlier by, jack/latency Sound card's latency, jack/xruns Audio late, jack/lost Cycles missed`;

const linkCards = `
trouble
Ableton Link: link Enabled, peers/str Session, peers/list Peers, startstop Start/stop sync, link/active On the network
Who leads: lead/str Leads now, lead Lead, lead/grid Move the grid too, lead/midi/str MIDI clock, lead/error Apart by, jack/timebase/str Timebase master, takeover Timebase
Bar: quantum Quantum, meter Meter, align Beat 0 is now
Launch: launch Start on, count/in Count-in, stop/when Stop on, launch/align Exactly, launch/error Last start was off by, launch/moved Starts that came later
Drift: drift Sound card's rate, drift/lag DAW is behind by, drift/correct Correct, drift/above Above, drift/corrections Corrections
page`;

const groups = `Link: link startstop peers quantum meter align, Lead: lead, Tempo: tempo timeline, Launch: launch count,
Transport: playing start stop toggle rewind locate record song, Drift: drift, Click: click, MIDI clock: clock, Pulses: pulse run,
JACK: jack takeover, Keys and pedals: midi, Page: web`.split(/,\s/).map((line) => line.split(": "));

const groupOf = (path) => groups.find(([, words]) => words.split(" ").includes(path.split("/")[0]))?.[0] ?? "Program";

export class Sections {
	isBuilt = false;
	drawers = [];

	// parts: desk, session, clock, connection, click, awake, play
	constructor(parts) {
		Object.assign(this, parts);
		on($("search"), "input", (event) => this.search(event.target.value));
	}

	// Of the tree that OSCQuery tells; once.
	async build() {
		if (this.isBuilt || this.isBuilding) return;
		this.isBuilding = true;
		try {
			const answer = await fetch("/tactus", { headers: { Accept: "application/json" } });
			const list = rowsOf(await answer.json());
			this.rows = new Map(list.map((row) => [row.path, row]));
			for (const row of list) if (row.value && !this.desk.values.has(row.path)) this.desk.take(row.path, row.value);
			this.fill("sound", soundCards);
			this.fill("link", linkCards);
			this.fillAll(list);
			this.play.applyLock();
			this.isBuilt = true;
		} catch (error) {
			console.warn(error); // and later again
		} finally {
			this.isBuilding = false;
		}
	}

	fill(id, cards) {
		const place = $(id);
		for (const line of cards.trim().split("\n")) {
			const [title, rows] = line.split(": ");
			place.append(rows ? card(title, rows.split(", ").flatMap((one) => this.line(one))) : this.special(title));
		}
	}

	line(text) {
		if (text === "pattern") return [this.pattern()];
		const [path, ...name] = text.split(" ");
		const row = this.rows.get(path);
		const shows = this.rows.has(`${path}/db`) ? `${path}/db` : null;
		return row ? [lineOf(this.desk, row, { name: name.join(" "), shows })] : [];
	}

	pattern() {
		const { element, draw } = patternEditor(this.desk, this.session, this.clock);
		this.drawers.push(draw);
		return element;
	}

	special(name) {
		if (name === "phone") return phoneClickCard(this.click, this.clock, this.session);
		if (name === "page") return pageCard(this.clock, this.connection, this.awake);
		return this.troubleCard();
	}

	troubleCard() {
		this.findings = make("ul", { id: "findings" });
		const ask = make("button.action", { id: "ask-doctor" }, "Ask the doctor");
		const found = make("ul", { id: "doctor" });
		on(ask, "click", () => this.askDoctor(ask, found));
		this.showTrouble(this.trouble?.found ?? []);
		const head = make("div.line", {}, make("span.name", {}, "JACK, network, machine"), ask);
		return card("What is wrong", [this.findings, make("div.row", {}, head, found)]);
	}

	async askDoctor(button, place) {
		if (!this.desk.mayOrder(button)) return;
		button.disabled = true;
		try {
			const { findings } = await (await fetch("/doctor")).json();
			place.replaceChildren(...findings.map(findingElement));
			tell(`${findings.filter(({ grade }) => grade === "bad").length} wrong.`);
		} catch {
			refuse(button, "The doctor did not finish.");
		}
		button.disabled = false;
	}

	showTrouble(found) {
		const good = { grade: "good", words: "Nothing that tactus knows of." };
		this.findings?.replaceChildren(...(found.length > 0 ? found : [good]).map(findingElement));
	}

	fillAll(list) {
		const place = $("rows");
		const cards = new Map();
		for (const row of list) {
			if (row.kind === "feed" && !["timeline", "song"].includes(row.path)) continue;
			const title = groupOf(row.path);
			if (!cards.has(title)) cards.set(title, { lines: [], buttons: [] });
			const isButton = buttonOf(row, this.rows) !== null;
			cards.get(title)[isButton ? "buttons" : "lines"].push(lineOf(this.desk, row, { open: true }));
		}
		for (const [title, { lines, buttons }] of cards) {
			const box = card(title, lines);
			if (buttons.length > 0) box.append(make("details", {}, make("summary", {}, "The same as buttons, for pedals and keys"), ...buttons));
			place.append(box);
		}
	}

	// Each word must be somewhere in the address or the help.
	search(text) {
		const words = text.toLowerCase().split(/\s+/).filter(Boolean);
		let count = 0;
		for (const box of document.querySelectorAll("#rows .card")) {
			let here = 0;
			for (const row of box.querySelectorAll(".row")) {
				const isFound = words.every((word) => row.textContent.toLowerCase().includes(word) || row.dataset.address.includes(word));
				row.hidden = !isFound;
				here += isFound;
			}
			const details = box.querySelector("details");
			if (details) {
				details.hidden = !details.querySelector(".row:not([hidden])");
				details.open = words.length > 0;
			}
			box.hidden = here === 0;
			count += here;
		}
		$("found").textContent = words.length === 0 ? "" : count === 0 ? "Nothing has these words." : `${count} found`;
	}

	draw(moment) {
		for (const draw of this.drawers) draw(moment);
	}
}
