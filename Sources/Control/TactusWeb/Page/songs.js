// SPDX-License-Identifier: GPL-2.0-or-later
// The set list on Play: the song, the next one, and the titles to touch. Titles are shown as text only.
import { $, make } from "./desk.js";
import { on } from "./hands.js";

// The titles in the text of `set/list`, "1 Opener, 2 Slow One". tactus cuts a long text, and then the last
// title is incomplete and is left out.
export function titlesIn(text) {
	const isCut = text.endsWith("...");
	const titles = [];
	let rest = text;
	for (let n = 1; rest.startsWith(`${n} `); n += 1) {
		const end = rest.indexOf(`, ${n + 1} `);
		const title = rest.slice(`${n} `.length, end < 0 ? undefined : end);
		if (end >= 0 || !isCut) titles.push(title);
		rest = end < 0 ? "" : rest.slice(end + 2);
	}
	return titles;
}

// Shows the set list if there are songs. While the song moves, another song waits for the next bar.
export function showSongs(desk, session) {
	const open = $("songs-open");
	const list = $("songs");
	const moment = () => (session.isMoving ? ["bar"] : []);
	on($("song-next"), "click", () => desk.order("set/next", [1, ...moment()], $("song-next")));
	const turn = (isOpen) => {
		list.hidden = !isOpen;
		open.setAttribute("aria-expanded", String(isOpen));
	};
	on(open, "click", () => turn(list.hidden));
	const mark = () => {
		for (const box of list.children) box.setAttribute("aria-pressed", String(box.textContent === desk.value("set/song")));
	};
	const show = () => {
		const waits = desk.value("set/waits", "");
		const coming = desk.value("set/coming", "");
		$("song").textContent = desk.value("set/song") || "No song yet";
		$("song-coming").textContent = waits ? `on the bar: ${waits}` : coming ? `then ${coming}` : "the last song";
		$("song-next").disabled = !coming;
		mark();
	};
	desk.watch("set/list", ([text]) => {
		const titles = titlesIn(text);
		$("set").hidden = titles.length === 0;
		list.replaceChildren(...titles.map((title) => {
			const box = make("button.tool", {}, title);
			on(box, "click", () => desk.order("set/song", [title, ...moment()], box) && turn(false));
			return box;
		}));
		mark();
	});
	for (const path of ["set/song", "set/coming", "set/waits"]) desk.watch(path, show);
}
