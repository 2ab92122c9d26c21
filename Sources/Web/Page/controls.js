// SPDX-License-Identifier: GPL-2.0-or-later
// One control for each row of tactus' table, by its type, range, unit and words.
import { make, refuse, short } from "./desk.js";
import { on, whileHeld } from "./hands.js";

const hold = 1000; // a control is not moved under the finger, nor so soon after

let number = 0;

const locked = /^(tempo|quantum)(\/|$)/;

// A row of a list: name, control, help.
export function lineOf(desk, row, { name = row.path, open = false, shows = null } = {}) {
	const id = `c${(number += 1)}`;
	const head = make("span.name", {}, make("span", { id }, name));
	const line = make("div.line", {}, head, controlOf(desk, row, { id, name, shows }));
	const help = make("p.help", { id: `${id}-help`, hidden: !open }, row.words);
	if (!open && row.words) {
		const ask = make("button.ask", { "aria-expanded": "false", "aria-controls": help.id, "aria-label": `About ${name}` });
		on(ask, "click", () => {
			help.hidden = !help.hidden;
			ask.setAttribute("aria-expanded", String(!help.hidden));
		});
		head.append(ask);
	}
	const box = make("div.row", { "data-address": row.path }, line, help);
	if (locked.test(row.path) && row.kind !== "reading") for (const one of box.querySelectorAll("[data-control]")) one.dataset.locks = "";
	return box;
}

function controlOf(desk, row, about) {
	if (row.kind === "trigger") return trigger(desk, row, about);
	if (row.kind === "order") return order(desk, row, about);
	if (row.kind !== "value") return reading(desk, row);
	const [first] = row.parameters;
	if (row.parameters.length > 1) return several(desk, row, about);
	if (first.kind === "flag") return flag(desk, row, about);
	if (first.kind === "word") return first.words.length <= 4 ? segments(desk, row, about) : list(desk, row, about);
	if (first.kind === "text") return text(desk, row, about);
	return numeric(desk, row, about);
}

// Shows what tactus says, but never under the finger; then what it says last.
function follow(desk, path, show) {
	let until = 0;
	let timer = 0;
	const update = () => {
		const left = until - performance.now();
		clearTimeout(timer);
		if (left > 0) timer = setTimeout(update, left);
		else if (desk.values.has(path)) show(desk.values.get(path));
	};
	desk.watch(path, update);
	return {
		touch: () => {
			until = performance.now() + hold;
			update();
		},
		back: () => {
			until = 0;
			update();
		},
	};
}

// Sends it; a refusal puts the control back.
function choose(desk, path, values, by, following) {
	following.touch();
	if (!desk.order(path, values, by)) following.back();
}

function flag(desk, row, { id }) {
	const box = make("button.switch", { role: "switch", "aria-checked": "false", "aria-labelledby": id, "data-control": "" });
	const show = (isOn) => box.setAttribute("aria-checked", String(isOn));
	const following = follow(desk, row.path, ([value]) => show(value >= 0.5));
	on(box, "click", () => {
		const isOn = box.getAttribute("aria-checked") !== "true";
		show(isOn);
		choose(desk, row.path, [isOn ? 1 : 0], box, following);
	});
	return box;
}

function segments(desk, row, { id }) {
	const box = make("fieldset.segments", { "aria-labelledby": id });
	const name = `${id}-words`;
	const radios = row.parameters[0].words.map((word) => make("input", { type: "radio", name, value: word, "data-control": "" }));
	const following = follow(desk, row.path, ([value]) => radios.forEach((one) => (one.checked = one.value === value)));
	for (const one of radios) {
		on(one, "change", () => choose(desk, row.path, [one.value], box, following));
		box.append(make("label", {}, one, make("span", {}, one.value)));
	}
	return box;
}

function list(desk, row, { id }) {
	const box = make("select.box", { "aria-labelledby": id, "data-control": "" });
	box.append(...row.parameters[0].words.map((word) => make("option", { value: word }, word)));
	const following = follow(desk, row.path, ([value]) => (box.value = value));
	on(box, "change", () => choose(desk, row.path, [box.value], box, following));
	return box;
}

function text(desk, row, { id }) {
	const box = make("input.box text", { type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-labelledby": id, "data-control": "" });
	const following = follow(desk, row.path, ([value]) => document.activeElement !== box && (box.value = value));
	on(box, "change", () => choose(desk, row.path, [box.value], box, following));
	on(box, "blur", following.back);
	return box;
}

// A number as it is typed; null if it is none or out of range, which is said.
function typed(box, { least, most, unit, kind }) {
	const value = Number(box.value.trim().replace(",", ".").replace("−", "-"));
	const isGood = box.value.trim() !== "" && value >= least && value <= most && (kind !== "whole" || Number.isInteger(value));
	if (isGood) return value;
	refuse(box, `${box.value.trim() || "Nothing"} does not go here: ${kind === "whole" ? "whole numbers, " : ""}${short(least)} to ${short(most)}${unit ? ` ${unit}` : ""}.`);
	return null;
}

function numberBox(parameter, label) {
	return make("input", {
		class: "box",
		type: "text",
		inputmode: parameter.least < 0 ? "text" : parameter.kind === "whole" ? "numeric" : "decimal",
		autocomplete: "off",
		"data-control": "",
		...label,
	});
}

// Typed; with plus and minus if it is whole, with a fader if its range is small, which sends thirty times a second at most.
function numeric(desk, row, { id, name, shows }) {
	const [parameter] = row.parameters;
	const { least, most, unit, kind } = parameter;
	const span = most - least;
	const isWhole = kind === "whole";
	const isFader = span <= 1; // its place says more than its number
	const box = isFader ? make("output") : numberBox(parameter, { "aria-labelledby": id });
	const parts = [box];
	const range = !isWhole && span <= 1000 && make("input", { type: "range", min: String(least), max: String(most), step: "any", "aria-labelledby": id, "data-control": "" });
	const show = (value) => {
		if (range) range.value = value;
		if (!isFader) document.activeElement !== box && (box.value = Number(value.toFixed(3)));
		else if (!shows) box.value = `${Math.round(value * 100)} %`;
	};
	const following = follow(desk, row.path, ([value]) => show(value));
	const set = (value, by) => {
		if (value < least || value > most) return false;
		choose(desk, row.path, [value], by, following);
		show(value);
		return true;
	};
	if (!isFader) {
		on(box, "change", () => {
			const value = typed(box, parameter);
			if (value === null) following.back();
			else set(value, box);
		});
		on(box, "blur", () => setTimeout(following.back, hold));
	}
	if (isWhole) {
		const button = (sign, by, words) => {
			const one = make("button", { "aria-label": `${name}: ${words}`, "data-control": "" }, sign);
			whileHeld(one, () => {
				const isSet = set(Number(box.value) + by, one);
				box.value = Number(box.value) + (isSet && document.activeElement === box ? by : 0);
				return isSet;
			});
			return one;
		};
		parts.unshift(button("−", -1, "less"));
		parts.push(button("+", 1, "more"));
	}
	if (range) {
		parts.unshift(range);
		let timer = 0;
		const step = span <= 1 ? 0.005 : span <= 200 ? 0.1 : 0.5;
		on(range, "input", () => {
			// A finger means a round number.
			show(Math.min(most, Math.max(least, Number((Math.round(range.value / step) * step).toFixed(4)))));
			following.touch();
			timer ||= setTimeout(() => {
				timer = 0;
				choose(desk, row.path, [Number(range.value)], range, following);
			}, 33);
		});
		on(range, "keydown", (event) => {
			const turn = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
			if (!turn) return;
			event.preventDefault();
			range.value = Number(range.value) + turn * 2 * step;
			range.dispatchEvent(new Event("input"));
		});
	}
	if (shows) {
		desk.watch(shows, ([value]) => {
			box.value = value <= -90 ? "silent" : `${short(value, 1)} dB`;
			range.setAttribute("aria-valuetext", box.value);
		});
	}
	if (unit) parts.push(make("span.unit-after", {}, unit));
	return make(range ? "span.slide" : "span.several counter", {}, ...parts);
}

// 7 and 8 for the meter, two tempos for a range: sent together.
function several(desk, row, { name }) {
	const boxes = row.parameters.map((parameter, n) => numberBox(parameter, { "aria-label": `${name}, ${n + 1} of ${row.parameters.length}`, "data-argument": String(n) }));
	const following = follow(desk, row.path, (values) =>
		boxes.forEach((box, n) => document.activeElement !== box && (box.value = Number(Number(values[n]).toFixed(3)))),
	);
	boxes.forEach((box, n) =>
		on(box, "change", () => {
			if (typed(box, row.parameters[n]) === null) return following.back();
			const values = boxes.map((one) => Number(one.value.replace(",", ".")));
			choose(desk, row.path, values, box, following);
		}),
	);
	return make("span.several", {}, ...boxes);
}

function trigger(desk, row, { name }) {
	const box = make("button.action", { "aria-label": name, "data-control": "" }, verb(row.path));
	if (row.value) desk.watch(row.path, ([value]) => box.classList.toggle("lit", value >= 0.5));
	on(box, "click", () => {
		if (row.path === "quit" && !confirm("Really end tactus?")) return;
		desk.order(row.path, [1], box);
	});
	return box;
}

function verb(path) {
	const word = path.slice(path.lastIndexOf("/") + 1);
	return word[0].toUpperCase() + word.slice(1);
}

function order(desk, row, { name }) {
	const boxes = row.parameters.map((parameter, n) =>
		parameter.kind === "text"
			? make("input.box text", { type: "text", "aria-label": name, "data-control": "", "data-argument": String(n) })
			: numberBox(parameter, { "aria-label": `${name}${parameter.unit ? `, ${parameter.unit}` : ""}`, "data-argument": String(n) }),
	);
	const go = make("button.action", { "aria-label": `${name}: send`, "data-control": "" }, "Send");
	on(go, "click", () => {
		const values = boxes.map((box, n) => (row.parameters[n].kind === "text" ? box.value : typed(box, row.parameters[n])));
		if (!values.includes(null)) desk.order(row.path, values, go);
	});
	for (const box of boxes) on(box, "keydown", (event) => event.key === "Enter" && go.click());
	const unit = row.parameters[0]?.unit;
	return make("span.several", {}, ...boxes, ...(unit ? [make("span.unit-after", {}, unit)] : []), go);
}

function reading(desk, row) {
	const box = make("output.value", { "aria-live": "off" }, "–");
	desk.watch(row.path, (values) => {
		box.value = values
			.map((value, n) => {
				const { kind, unit } = row.parameters[n] ?? {};
				if (kind === "flag") return value >= 0.5 ? "yes" : "no";
				return typeof value === "number" ? `${short(value)}${unit ? ` ${unit}` : ""}` : value || "–";
			})
			.join(" · ");
	});
	return box;
}
