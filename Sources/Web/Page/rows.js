// SPDX-License-Identifier: GPL-2.0-or-later
// tactus' table: the tree of GET /tactus as rows.

export function rowsOf(tree) {
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
		const kind = range.VALS
			? "word"
			: type === "s"
				? "text"
				: type === "i"
					? "whole"
					: node.CLIPMODE?.[n] === "both"
						? "fader"
						: node.TAGS?.includes("switch")
							? "flag"
							: "number";
		return { kind, unit, words: range.VALS, least: range.MIN, most: range.MAX };
	});
	return { path, kind: node.TAGS?.[0] ?? ["", "reading", "order", "value"][node.ACCESS], parameters, words: node.DESCRIPTION ?? "", value: node.VALUE };
}

// What only presses another row's button: link/toggle, launch/next, launch/bar.
export function buttonOf(row, rows) {
	if (row.kind !== "trigger") return null;
	const cut = row.path.lastIndexOf("/");
	const above = rows.get(row.path.slice(0, cut));
	const last = row.path.slice(cut + 1);
	const [first] = above?.kind === "value" ? above.parameters : [];
	const isButton = (first?.kind === "flag" && last === "toggle") || (first?.kind === "word" && (last === "next" || first.words.includes(last)));
	return isButton ? above : null;
}
