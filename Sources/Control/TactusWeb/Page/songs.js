// SPDX-License-Identifier: GPL-2.0-or-later
// The set list on Play: the song, the next one, and the titles to touch. Titles are shown as text only.
import { $, make } from "./desk.js";
import { on } from "./hands.js";

// Rows of the table with the titles, each behind the number of its titles.
const pages = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `set/titles/${n}`);

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
		// Hidden with its space, so that no other button moves under a finger that taps twice.
		$("song-next").style.visibility = coming ? "" : "hidden";
		mark();
	};
	let shown = [];
	const fill = () => {
		const titles = pages.flatMap((page) => (desk.values.get(page) ?? []).slice(1));
		$("set").hidden = titles.length === 0;
		if (titles.join("\n") === shown.join("\n")) return;
		shown = titles;
		list.replaceChildren(...titles.map((title) => {
			const box = make("button.tool", {}, title);
			on(box, "click", () => desk.order("set/song", [title, ...moment()], box) && turn(false));
			return box;
		}));
		mark();
	};
	for (const page of pages) desk.watch(page, fill);
	for (const path of ["set/song", "set/coming", "set/waits"]) desk.watch(path, show);
}
