// SPDX-License-Identifier: GPL-2.0-or-later
// Sound, Link and All settings, built from the table's rows.
import { lineOf } from "./controls.js";
import { $, make, refuse, tell } from "./desk.js";
import { channelList, outputForm, outputList, outputOf, setList } from "./named.js";
import { cardOf, pageCard, phoneClickCard } from "./device.js";
import { on } from "./hands.js";
import { patternEditor } from "./pattern.js";
import { findingElement } from "./trouble.js";

// A line describes a card: its title, a colon, and the addresses of its rows, each with the name to show.
// Without a name, an address has its title from the table. The other entries, such as `phone` or `pattern`,
// are built by functions.
const soundCards = `
Click: click, silence, click/volume Volume, click/sound Sound, pattern, click/subdivision, click/swing Swing, click/when It plays, count/in
phone
MIDI clock: clock, clock/when It is sent, clock/offset Earlier by, clock/jitter Off by at most, clock/swing Swing, clock/settle Time to settle
Pulses: pulse, pulse/rate Per beat, pulse/swing Swing, pulse/offset Earlier by, pulse/jitter Off by at most, run/offset
Your own outputs: outputs, new-output
Set list: set, set/go Song number
In time with the room: click/offset, click/2/offset, jack/offset, jack/sink, jack/sink/str, jack/latency Its latency, jack/latency/refused, jack/xruns, jack/lost`;

const linkCards = `
trouble
Ableton Link: link Enabled, peers/str Session, peers/list Peers, startstop, song/sync, song/offset, link/active On the network
Link Audio: link/audio Sound of the peers, link/name Our name, link/audio/delay Heard later by, channels
Other rooms: far/str Rooms, far Connected rooms, link/offset Their time is earlier by, link/distance Their beat is later by, far/roundtrip Round trip, far/bound Their beat is off by at most, far/loss Lost on the way, far/seen, far/key Key, far/refused
Who leads: lead/str, lead Lead, lead/grid, lead/midi/str MIDI clock, lead/midi/offset Follow it earlier by, lead/error Leader is off by, jack/timebase/str, takeover
Bar: quantum, quantum/bar, meter, align
Launch: launch, count/in, stop/when, stop/at, launch/align Start exactly, launch/wait JACK shows while waiting, launch/error, launch/moved Delayed starts
Drift: drift Sound card's rate, drift/lag, drift/correct Correct it, drift/above Correct above, drift/corrections Corrections
page`;

// Cards that show only their first line while their part is off or empty, each with the row whose value is
// then 0.
const switches = { "MIDI clock": "clock", Pulses: "pulse", "Set list": "set/titles/1", "Link Audio": "link/audio", "Other rooms": "far/rooms" };

const groups = `Link: link startstop peers quantum meter align, Lead: lead, Tempo: tempo timeline, Launch: launch count,
Transport: transport playing start stop toggle rewind locate record song, Drift: drift, Click: click, MIDI clock: clock, Pulses: pulse run,
Your own outputs: out, Set list: set, Link Audio: audio, Other rooms: far, JACK: jack takeover, Keys and pedals: midi, Page: web`.split(/,\s/).map((line) => line.split(": "));

const groupOf = (path) => groups.find(([, words]) => words.split(" ").includes(path.split("/")[0]))?.[0] ?? "Program";

export class Sections {
	isBuilt = false;
	outputsAsked = 0;
	drawers = [];

	// parts: desk, session, clock, connection, click, awake, play
	constructor(parts) {
		Object.assign(this, parts);
		on($("search"), "input", (event) => this.search(event.target.value));
	}

	// Builds the sections once, from OSCQuery's tree.
	async build() {
		if (this.isBuilt || this.isBuilding) return;
		this.isBuilding = true;
		try {
			const list = await rowsOf("/tactus");
			this.rows = new Map(list.map((row) => [row.path, row]));
			for (const row of list) if (row.value && !this.desk.values.has(row.path)) this.desk.take(row.path, row.value);
			this.fill("sound", soundCards);
			this.fill("link", linkCards);
			this.fillAll(list);
			this.desk.watch("out/changes", () => this.followOutputs());
			this.play.applyLock();
			this.isBuilt = true;
		} catch (error) {
			// The sections are built later.
			console.warn(error);
		} finally {
			this.isBuilding = false;
		}
	}

	fill(id, cards) {
		const place = $(id);
		for (const line of cards.trim().split("\n")) {
			const [title, rows] = line.split(": ");
			const card = rows ? cardOf(title, rows.split(", ").flatMap((one) => this.line(one))) : this.special(title);
			place.append(card);
			this.fold(card, switches[title]);
		}
	}

	// Shows only the first row of a card whose part is off or empty.
	fold(card, path) {
		if (!path) return;
		this.desk.watch(path, ([value]) => card.classList.toggle("folded", value === 0));
	}

	line(text) {
		const special = { silence: () => this.silence(), pattern: () => this.pattern(), channels: () => channelList(this.desk), outputs: () => make("div.outputs"), "new-output": () => outputForm(this.desk), set: () => setList(this.desk) }[text];
		if (special) return [special()];
		const [path, ...name] = text.split(" ");
		const row = this.rows.get(path);
		const shows = this.rows.has(`${path}/db`) ? `${path}/db` : null;
		return row ? [lineOf(this.desk, row, { name: name.join(" ") || row.title, shows })] : [];
	}

	pattern() {
		const { element, draw } = patternEditor(this.desk, this.session, this.clock);
		this.drawers.push(draw);
		return element;
	}

	// Why a click that is on cannot be heard.
	silence() {
		const box = make("p.banner wrong");
		const reasons = [["jack/connected", "no JACK server"], ["click/connected", "connected to nothing. Switch it off and on, or connect click_1 in a patchbay"], ["click/volume", "its volume is 0"]];
		const show = () => {
			const [, why] = reasons.find(([path]) => this.desk.value(path) === 0) ?? [];
			box.hidden = !why || this.desk.value("click") !== 1;
			box.textContent = `Silent: ${why}.`;
		};
		for (const path of ["click", ...reasons.map(([path]) => path)]) this.desk.watch(path, show);
		return box;
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
		return cardOf("What is wrong", [this.findings, make("div.row", {}, head, found)]);
	}

	async askDoctor(button, place) {
		if (!this.desk.mayOrder(button)) return;
		button.disabled = true;
		try {
			const { findings } = await (await fetch("/doctor")).json();
			place.replaceChildren(...findings.map(findingElement));
			tell(`${findings.filter(({ grade }) => grade === "bad").length} wrong.`);
		} catch {
			refuse(button, "tactus doctor did not finish.");
		}
		button.disabled = false;
	}

	showTrouble(found) {
		const good = { grade: "good", words: "tactus knows of no fault." };
		this.findings?.replaceChildren(...(found.length > 0 ? found : [good]).map(findingElement));
	}

	fillAll(list) {
		const place = $("rows");
		const cards = new Map();
		for (const row of list) {
			if ((row.kind === "feed" && !["timeline", "song"].includes(row.path)) || outputOf(row.path)) continue;
			const title = groupOf(row.path);
			if (!cards.has(title)) {
				const buttons = make("details", { hidden: true }, make("summary", {}, "Buttons, as for pedals and keys"));
				cards.set(title, { box: cardOf(title, [buttons]), buttons });
				place.append(cards.get(title).box);
			}
			const { buttons } = cards.get(title);
			const line = lineOf(this.desk, row, { isFull: true });
			if (row.kind === "trigger") buttons.append(line), (buttons.hidden = false);
			else buttons.before(line);
		}
		cards.get("Your own outputs")?.box.append(make("div.outputs"));
		this.order = new Map([place, ...place.children].map((box) => [box, [...box.children]]));
	}

	// Removes the rows of all outputs and fetches them again, since outputs come and go. Those that were open
	// stay open.
	fillOutputs(list) {
		this.desk.forget(outputOf);
		for (const row of list) if (row.value && outputOf(row.path)) this.desk.take(row.path, row.value);
		const named = (box) => box.querySelector("b").textContent;
		for (const place of document.querySelectorAll(".outputs")) {
			const open = new Set([...place.children].filter((box) => box.open).map(named));
			place.replaceChildren(...outputList(this.desk, list));
			for (const box of place.children) box.open = open.has(named(box));
		}
	}

	// Repeats until it is answered. An answer that comes after a newer question is dropped.
	async followOutputs() {
		const asked = (this.outputsAsked += 1);
		for (;;) {
			const list = await rowsOf("/tactus/out").catch(() => null);
			if (asked !== this.outputsAsked) return;
			if (list) {
				this.fillOutputs(list);
				return this.play.applyLock();
			}
			await new Promise((then) => setTimeout(then, 1000));
		}
	}

	// Each word must occur in the title, the address or the help. Settings with the whole words come first, then
	// readings with them, then rows that have the words as parts of longer words.
	search(text) {
		const words = text.toLowerCase().split(/\s+/).filter(Boolean);
		const place = $("rows");
		let count = 0;
		const ranks = new Map();
		for (const box of place.querySelectorAll(".card")) {
			let here = 0;
			for (const row of box.querySelectorAll(".row")) {
				const said = `${row.querySelector(".name").textContent} ${row.querySelector(".help").textContent} ${row.dataset.address}`.toLowerCase();
				const isFound = words.every((word) => said.includes(word));
				row.hidden = !isFound;
				here += isFound;
				if (!isFound || !isWhole(words, said)) continue;
				const rank = row.querySelector("[data-control]") ? 0 : 1;
				ranks.set(row, rank);
				ranks.set(box, Math.min(rank, ranks.get(box) ?? 1));
			}
			for (const details of box.querySelectorAll("details")) {
				details.hidden = !details.querySelector(".row:not([hidden])");
				details.open = words.length > 0;
			}
			box.hidden = here === 0;
			count += here;
		}
		const rank = (element) => (element.matches("h3") ? -1 : ranks.get(element) ?? 2);
		for (const [box, order] of this.order ?? []) box.append(...(words.length === 0 ? order : [...order].sort((a, b) => rank(a) - rank(b))));
		$("found").textContent = words.length === 0 ? "" : count === 0 ? "No setting has these words." : `${count} found`;
	}

	draw(moment) {
		for (const draw of this.drawers) draw(moment);
	}
}

const isWhole = (words, said) => {
	const whole = new Set(said.split(/[^\p{L}\p{N}]+/u));
	return words.every((word) => whole.has(word));
};

// Rows of tactus' table below an address, from OSCQuery's tree. A browser may keep a request on a dead
// connection for a minute, so we abort it earlier.
async function rowsOf(path) {
	const patience = new AbortController();
	const bell = setTimeout(() => patience.abort(), 5000);
	const tree = await fetch(path, { headers: { Accept: "application/json" }, signal: patience.signal })
		.then((answer) => answer.json())
		.finally(() => clearTimeout(bell));
	const rows = [];
	const visit = (node) => {
		if (node.TYPE !== undefined) rows.push(rowOf(node));
		for (const below of Object.values(node.CONTENTS ?? {})) visit(below);
	};
	visit(tree);
	return rows;
}

function rowOf(node) {
	const path = node.FULL_PATH.replace(/^\/tactus\//, "");
	const parameters = [...node.TYPE].map((type, n) => {
		const range = node.RANGE?.[n] ?? {};
		const unit = node.UNIT?.[n] ?? "";
		const number = node.CLIPMODE?.[n] === "both" ? "fader" : node.TAGS?.includes("switch") ? "flag" : "number";
		const kind = range.VALS ? "word" : { s: "text", i: "whole" }[type] ?? number;
		return { kind, unit, words: range.VALS, least: range.MIN, most: range.MAX };
	});
	return { path, kind: node.TAGS?.[0] ?? ["", "reading", "order", "value"][node.ACCESS], parameters, title: node.TITLE ?? path, words: node.DESCRIPTION ?? "", value: node.VALUE };
}
