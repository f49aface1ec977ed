/**
 * Tables of points: what somebody pastes or drops, and what is saved.
 */
import { ENGINE_LIMITS, RefusedError } from "./checks.js";
import { pythonFloat } from "./python_text.js";

/** What the fourth column may have. */
const HELD_OUT = ["1", "true", "test", "yes"];
const TO_TRAIN = ["0", "false", "train", "no", ""];

/** A number as Python reads it, or NaN. */
function tableNumber(text) {
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : NaN;
}

function isCoordinate(text) {
  return Math.abs(tableNumber(text)) <= ENGINE_LIMITS.coordinate;
}

/** A table that will not do. */
function refusedTable(expected, came) {
  const error = new RefusedError("table", expected, came);
  error.message = `table must ${expected}, got ${came}`;
  return error;
}

/** A cell without blanks and quotes around it. */
function bareCell(text) {
  return text.trim().replace(/^["']+|["']+$/g, "");
}

/** What divides lines as the first one wants it. */
function dividerOf(line) {
  const mark = ["\t", ";", ","].find((each) => line.includes(each));
  if (mark === undefined) return (text) => text.trim().split(/\s+/);
  // Numbers may have decimal commas.
  return (text) => text.split(mark).map((part, k) => (k < 2 ? bareCell(part).replaceAll(",", ".") : bareCell(part)));
}

/** Labels that are numbers by size, before names. */
function inLabelOrder(a, b) {
  const [x, y] = [tableNumber(a), tableNumber(b)];
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  if (x !== y && !Number.isNaN(x)) return x - y;
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Points of a table: two columns of features, one of labels, and maybe one that says which points
 * are held out. Columns are divided by commas, semicolons, tabs or blanks.
 * @param {string} text
 * @returns {{points: number[][], labels: number[], test: boolean[], names: string[]}} with what the classes were called
 */
export function tablePoints(text) {
  if (typeof text !== "string" || text.length > ENGINE_LIMITS.text) {
    throw refusedTable(`have at most ${ENGINE_LIMITS.text} characters`, "more");
  }
  const lines = text.split(/\r\n|\r|\n/).map((line, k) => ({ place: k + 1, line }));
  const filled = lines.filter(({ line }) => line.trim() !== "");
  const divide = dividerOf(filled[0]?.line ?? "");
  const rows = filled.map(({ place, line }) => ({ place, row: divide(line) }));
  const isNamed = rows[0]?.row.slice(0, 2).every((cell) => Number.isNaN(tableNumber(cell)));
  if (isNamed) rows.shift();
  requireRows(rows);
  const names = [...new Set(rows.map(({ row }) => row[2]))].sort(inLabelOrder);
  if (names.length > ENGINE_LIMITS.classes) {
    throw refusedTable(`have at most ${ENGINE_LIMITS.classes} classes`, `${names.length} instead`);
  }
  return {
    points: rows.map(({ row }) => [tableNumber(row[0]), tableNumber(row[1])]),
    labels: rows.map(({ row }) => names.indexOf(row[2])),
    test: rows.map(({ row }) => HELD_OUT.includes(row[3]?.toLowerCase())),
    names,
  };
}

function requireRows(rows) {
  const { points: most, coordinate } = ENGINE_LIMITS;
  if (rows.length === 0) throw refusedTable("have a line for each point", "none");
  if (rows.length > most) {
    const number = rows.length.toLocaleString("en");
    throw refusedTable(`have at most ${most.toLocaleString("en")} points`, `${number} instead`);
  }
  const width = rows[0].row.length;
  if (width !== 3 && width !== 4) {
    const came = `${width} columns; choose two features`;
    throw refusedTable("have two columns of features and one of labels", came);
  }
  const unclear = rows.find(({ row }) => row.length === 4 && ![...HELD_OUT, ...TO_TRAIN].includes(row[3].toLowerCase()));
  const wrong = rows.find(({ row }) => row.length !== width || !row.slice(0, 2).every(isCoordinate));
  if (unclear !== undefined && !(wrong?.place <= unclear.place)) {
    const expected = "have 1 or 0 in its fourth column, for points that are held out or not";
    throw refusedTable(expected, `'${unclear.row[3].slice(0, 117)}' in line ${unclear.place}`);
  }
  if (wrong === undefined) return;
  const size = coordinate.toLocaleString("en");
  const expected = `have two numbers of at most ${size} in size and a label in each line`;
  throw refusedTable(expected, `'${wrong.row.join(" ").slice(0, 117)}' in line ${wrong.place}`);
}

/** What a table calls each class: its name if it comes back as it is, and letters where two would be alike. */
function classCells(labels, names) {
  const letters = ["A", "B", "C", "D"];
  const isKept = (name) => typeof name === "string" && name === bareCell(name) && !/[,\r\n]/.test(name);
  const cells = letters.map((letter, label) => (isKept(names?.[label]) ? names[label] : letter));
  const used = [...new Set(labels)];
  return new Set(used.map((label) => cells[label])).size < used.length ? letters : cells;
}

/**
 * Points as such a table, with all digits.
 * @param {Object} state
 * @param {string[]|null} [names] What the classes are called.
 * @returns {string}
 */
export function tableOf({ points, labels, test }, names = null) {
  const cells = classCells(labels, names);
  const lines = points.map(([x, y], i) => {
    return `${pythonFloat(x)},${pythonFloat(y)},${cells[labels[i]]},${Number(test[i])}`;
  });
  return `${["x,y,label,test", ...lines].join("\n")}\n`;
}
