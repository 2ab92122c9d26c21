// SPDX-License-Identifier: GPL-2.0-or-later
// Rows that come and go by name: channels of Link Audio, the user's own outputs, and songs.
import { lineOf } from "./controls.js";
import { make, refuse, short } from "./desk.js";
import { on } from "./hands.js";

const button = (desk, verb, what, path, values) => {
	const box = make("button.action", { "aria-label": `${verb} ${what}` }, verb);
	on(box, "click", () => desk.order(path, values(), box));
	return box;
};

const entry = (name, told, ...inside) => make("details.named", {}, make("summary", {}, make("b", {}, name), ...told), ...inside);

// The list of Link Audio's channels. It asks tactus for the channels again and again while it is visible.
export function channelList(desk) {
	const list = make("div", { id: "channels" });
	const shown = new Map();
	let heard = null;
	let begun = 0;
	let nextPage = 0;
	let isLast = true;
	setInterval(() => {
		if (!list.offsetParent || !desk.connection.isLive) return;
		// The pages of the last answer may still be on their way.
		if (heard && Date.now() - begun < 5000) return;
		heard = new Map();
		begun = Date.now();
		desk.connection.put("audio/list", []);
	}, 1000);
	desk.watch("audio/page", ([page, pages]) => {
		nextPage = page + 1;
		isLast = page >= pages;
	});
	desk.watch("audio/channel", (values) => heard?.set(values[1] + values[0], values));
	desk.watch("update", ([begins]) => {
		if (begins || !heard || !nextPage) return;
		if (!isLast) desk.connection.put("audio/list", [nextPage]);
		nextPage = 0;
		if (!isLast) return;
		for (const [key, { box }] of shown) if (!heard.has(key)) shown.delete(key), box.remove();
		for (const [key, values] of heard) {
			if (!shown.has(key)) {
				shown.set(key, channel(desk, values));
				list.append(shown.get(key).box);
			}
			shown.get(key).tell(values);
		}
		heard = null;
	});
	return list;
}

function channel(desk, [name, kind]) {
	if (kind === "offered") {
		const take = button(desk, "Take", name, "audio/receive", () => [name]);
		return { box: make("div.line", {}, make("span.name", {}, name), take), tell() {} };
	}
	const told = make("small");
	if (kind === "sent") return { box: make("div.line", {}, make("span.name", {}, name), told), tell: (values) => (told.textContent = `sent: ${values[2]}`) };
	const figures = make("p.help");
	let taken = name;
	const delay = make("input.box", { "aria-label": `Delay of ${name}`, placeholder: "same as all" });
	on(delay, "change", () => desk.order("audio/receive", [delay.value ? `${name}=${delay.value}` : name], delay));
	const leave = button(desk, "Leave", name, "audio/receive/end", () => [taken]);
	const tell = ([, , health, late, buffer, jitter, arrives, level, rate, dropouts, lost, behind, by]) => {
		told.textContent = `${health}, ${short(level, 0)} dB`;
		figures.textContent =
			`${rate} Hz. Heard ${short(late, 1)} ms after its beat; arrives after ${short(arrives, 1)} ± ${short(jitter, 1)} ms; ` +
			`buffer ${short(buffer, 0)} ms. ${dropouts} dropouts, ${lost} lost, ${behind} late.`;
		taken = by;
		const own = by.startsWith(`${name}=`) ? by.slice(name.length + 1) : "";
		leave.textContent = own || by === name ? "Leave" : `Leave ${by}`;
		if (document.activeElement !== delay) delay.value = own;
	};
	return { box: entry(name, [told], figures, make("div.line", {}, make("span.name", {}, "Delay: auto, ms, 1beat, 1bar"), delay, leave)), tell };
}

export const outputOf = (path) => /^out\/(.+)\//.exec(path)?.[1];

// Each output with its rows: offset, rate, play, jitter ...
export function outputList(desk, rows) {
	const outputs = new Map();
	for (const row of rows) {
		const name = outputOf(row.path);
		if (!name) continue;
		const path = (last) => `out/${name}/${last}`;
		if (!outputs.has(name)) {
			const words = { state: (state) => state, offset: (ms) => ms && `offset ${short(ms)} ms`, jitter: (us) => us && `within ${us} us` };
			const told = Object.entries(words).map(([last, word]) => {
				const text = make("small");
				desk.watch(path(last), ([value]) => (text.textContent = word(value) || ""));
				return text;
			});
			const box = entry(name, told, button(desk, "Remove", name, "out/remove", () => [name]));
			outputs.set(name, box);
		}
		outputs.get(name).lastChild.before(lineOf(desk, row, { name: row.path.slice(path("").length) }));
	}
	return [...outputs.values()];
}

const kinds = { clock: "MIDI clock", pulse: "Pulses", run: "Run gate", reset: "Reset", click: "Click", ltc: "LTC", mtc: "MIDI timecode" };
const machines = { "": "any", korg: "Korg SYNC, Pocket Operator", step: "a step for each pulse", din: "DIN sync 24", din48: "DIN sync 48" };

// Adds an output: kind, name, offset, and for pulses the machine. *All* takes every other setting as text.
export function outputForm(desk) {
	const field = (name, box) => make("label.line", {}, make("span.name", {}, name), box);
	const choice = (words) => make("select.box", {}, ...Object.entries(words).map(([value, word]) => new Option(word, value)));
	const kind = choice(kinds);
	const name = make("input.box text", { placeholder: "drums", maxLength: 32, autocomplete: "off", autocapitalize: "off", spellcheck: false });
	const offset = make("input.box", { inputmode: "text", value: "0", autocomplete: "off" });
	const machine = choice(machines);
	const machineLine = field("Machine", machine);
	const show = () => (machineLine.hidden = kind.value !== "pulse");
	on(kind, "change", show);
	show();
	const form = make("form.row new-output", {}, field("Kind", kind), field("Name", name), field("Earlier by (ms)", offset), machineLine);
	const add = make("button.action", {}, "Add output");
	form.append(make("div.line", {}, add));
	on(form, "submit", (event) => {
		event.preventDefault();
		const early = Number(offset.value.trim().replace(",", ".").replace("−", "-"));
		if (!/^[\w-]{1,32}$/.test(name.value)) return refuse(name, "A name has 1 to 32 letters, digits, - and _.");
		if (!(Math.abs(early) <= 500)) return refuse(offset, "The offset is -500 to 500 ms.");
		const settings = [machine.value && kind.value === "pulse" ? ` for=${machine.value}` : "", early ? ` offset=${early}` : ""];
		if (desk.order("out/add", [`${name.value}=${kind.value}${settings.join("")}`], add)) name.value = "";
	});
	return form;
}

// The current song, the next one, and the buttons to move on; without songs, how to add one.
export function setList(desk) {
	const told = (path, word) => {
		const text = make("small");
		desk.watch(path, ([title]) => (text.textContent = title ? `${word} ${title}` : ""));
		return text;
	};
	const song = make("b");
	const go = (verb, what, path, ...on) => button(desk, verb, what, path, () => [1, ...on]);
	const ways = [go("Back", "in the set", "set/previous"), go("Next", "song", "set/next"), go("Next on the bar", "song", "set/next", "bar")];
	const line = make("div.line", {}, ...ways);
	const show = () => {
		line.hidden = desk.value("set/titles/1") === 0;
		song.textContent = desk.value("set/song") || (line.hidden ? "No songs: tactus send set/add adds one" : "No song yet");
	};
	for (const path of ["set/song", "set/titles/1"]) desk.watch(path, show);
	return make("div.row.set", {}, make("p.help", {}, song, " ", told("set/coming", "then"), " ", told("set/waits", "waits for its bar:")), line);
}
