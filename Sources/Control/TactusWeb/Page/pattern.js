// SPDX-License-Identifier: GPL-2.0-or-later
// The click's pattern: drawn slot by slot, or tapped while the bar goes round. tactus plays it at once.
import { make } from "./desk.js";
import { on, struck } from "./hands.js";
import { letterOf, modulo } from "./session.js";

const names = { X: "accent", x: "plain", ".": "silent" };
const after = { X: "x", x: ".", ".": "X" };

export function patternEditor(desk, session, clock) {
	const grid = make("div", { id: "pattern", role: "group", "aria-label": "Pattern of the click, one bar" });
	const tap = (letter, words) => {
		const pad = make("button.action", { id: letter === "X" ? "pattern-accent" : "pattern-plain" }, words);
		struck(pad, (at) => strike(letter, at, pad));
		return pad;
	};
	const clear = make("button.action", { id: "pattern-clear" }, "Clear");
	const pads = make("div.three", {}, tap("X", "Tap accents"), tap("x", "Tap plain"), clear);
	const help = make("p.help", {}, "Draw it: a touch makes a click an accent, plain or silent. Or tap it in while the bar goes round.");

	const pattern = () => desk.value("click/pattern", "");
	const each = () => desk.value("click/subdivision", 1);
	const length = () => Math.min(64, Math.max(1, desk.value("meter", 4)) * each());
	const letters = () => Array.from({ length: length() }, (_, slot) => letterOf(pattern(), slot));

	// Sends the shortest text with the same meaning.
	const send = (row, by) => {
		const text = row.join("");
		const isPlain = row.every((letter, slot) => letter === letterOf("", slot));
		desk.order("click/pattern", [isPlain ? "" : text], by);
	};

	// Sets the slot nearest to the time of the touch.
	const strike = (letter, at, pad) => {
		const host = clock.hostAt(at);
		if (host === null || !session.timeline) return;
		const slot = Math.round(session.at(host).shown * each());
		const row = letters();
		row[modulo(slot, row.length)] = letter;
		send(row, pad);
	};

	on(clear, "click", () => send(letters().map(() => "."), clear));

	const show = () => {
		const row = letters();
		grid.style.setProperty("--columns", row.length <= 8 ? row.length : Math.min(16, Math.max(1, Math.floor(8 / each())) * each()));
		while (grid.children.length > row.length) grid.lastChild.remove();
		row.forEach((letter, slot) => {
			let box = grid.children[slot];
			if (!box) {
				box = make("button.slot");
				on(box, "click", () => {
					const now = letters();
					now[slot] = after[now[slot]] ?? "X";
					send(now, box);
				});
				grid.append(box);
			}
			box.dataset.letter = letter;
			box.classList.toggle("starts", slot % each() === 0 && each() > 1);
			box.setAttribute("aria-label", `Click ${slot + 1}: ${names[letter] ?? "silent"}`);
		});
	};
	for (const path of ["click/pattern", "click/subdivision", "meter"]) desk.watch(path, show);

	let lit = -1;
	const draw = (moment) => {
		if (!grid.offsetParent) return;
		const slot = modulo(Math.floor(moment.shown * each() + 1e-6), Math.max(1, grid.children.length));
		if (slot === lit) return;
		grid.children[lit]?.classList.remove("now");
		grid.children[slot]?.classList.add("now");
		lit = slot;
	};
	return { element: make("div.row", {}, grid, pads, help), draw };
}
