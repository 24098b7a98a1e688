/** Delimited tables with faults in rows, columns, cells and times. */
import { good, head, read, testTables } from "./table_faults.ts";

const day = 1717113600;

testTables([
  ["a whole table", good, read],
  ["tabs", good.replaceAll(",", "\t"), `${read}; fields are separated by "\\t"`],
  ["bars", good.replaceAll(",", "|"), `${read}; fields are separated by "|"`],
  [
    "a delimiter that Excel announces",
    `sep=;\n${good.replaceAll(",", ";")}`,
    `${read}; fields are separated by ";"`,
  ],
  [
    "a decimal comma",
    "series;time;x\na;0;1,5\n",
    'x; a 0 | 1.5; fields are separated by ";"; numbers have a decimal comma',
  ],
  [
    "a decimal comma in quotes",
    'series,time,x\na,0,"1,5"\n',
    /line 2: .* "x", got "1,5"; .*the option decimal to ,/,
  ],
  ["the option for decimal commas", 'series,time,x\na,0,"1,5"\n', "x; a 0 | 1.5", { decimal: "," }],
  [
    "a decimal point with the option for decimal commas",
    'series,time,x\na,0,"1,5"\na,1,1.234\n',
    /line 3: .* "x", got "1\.234"; if the point separates thousands, .*; if .* sign, set the option decimal to \.$/,
    { decimal: "," },
  ],
  [
    "a decimal point after detected decimal commas",
    `series;time;x\n${Array.from({ length: 1000 }, (_, i) => `a;${i};1,5\n`).join("")}a;1000;1.234\n`,
    /line 1002: .* "x", got "1\.234"; if the point separates thousands/,
  ],
  [
    "a decimal point in a time with decimal commas",
    'series;time;x\na;1.5;"1,5"\n',
    /line 2: .* got "1\.5" in column "time"; if the point is the decimal sign, set the option decimal to \.$/,
    { decimal: "," },
  ],
  ["Windows line endings", good.replaceAll("\n", "\r\n"), read],
  ["classic Mac line endings", good.replaceAll("\n", "\r"), read],
  ["no line ending after the last line", good.trimEnd(), read],
  ["rows of blanks", good.replace("b,", ",, ,\r\nb,"), `${read}; 1 empty row left out`],
  ["empty rows", good.replace("b,", "\n,,,\nb,"), `${read}; 1 empty row left out`],
  [
    "markers of missing values",
    good.replace(",0,1,", ",0,-,").replace(/,1,[^,]+,/, ",1,-9.0,"),
    "x; a 0 1 | NaN NaN u; b 0 | 3 v",
    {
      missing: ["-", "-9"],
    },
  ],
  ["fields in quotes", 'series,time,x\n"a ""1"", b",0,"2"\n', 'x; a "1", b 0 | 2'],
  ["a line end in quotes", 'series,time,x\n"a\nb",0,2\nc,0,z\n', /line 4: .* "x", got "z"/],
  [
    "a quote that is never closed",
    `${head}"a,0,1,u\nb,0,1,v\n`,
    /line 2: a quote that is opened .* never closed/,
  ],
  ["text behind a quote", 'series,time,x\n"a"b,0,2\n', /line 2: "b" after the closing quote of field 1/],
  ["a quote in a field", 'series,time,x\na"b,0,2\n', /line 2: a quote in field 1/],
  ["a quote as delimiter", 'sep="\ntime"x\n""x""a""\n', /line 1: a quote in field 1/],
  ["a row too long", `${head}a,0,1,u,9\n`, /line 2: 5 fields, expected 4/],
  ["a truncated table", good.slice(0, -4), /line 4: 3 fields, expected 4/],
  ["names alone", head, /no rows after the names/],
  ["an empty file", "", /an empty file; expected a table/],
  ["a million columns", `series,time${",c".repeat(1e6)}\n`, /line 1: 1000002 columns, more than 100000/],
  ["a column twice", "series,time,x,x\na,0,1,2\n", /line 1: two columns are called "x"/],
  [
    "no time",
    "series,x\na,1\n",
    /no column "time" among series, x; name another with the option time; if each row is a series, set the option layout rows/,
  ],
  ["a time in capitals", "series,Time,x\na,0,1\n", /no column "time" .* the option time, as "Time"/],
  ["a series in capitals", "Series,time,x\na,0,1\n", /no column "series".* the option series to "Series"/],
  [
    "no series",
    "time,x\n0,1\n1,2\n",
    'x; table 0 1 | 1 2; no column "series": all rows are one series, "table"',
  ],
  ["numbers as text", `${head}a,0,'1,u\n`, /line 2: expected a number, .* "x", got "'1"/],
  [
    "a word among numbers",
    `${head}a,0,1,u\na,1,high,u\n`,
    /line 3: .* "x", got "high"; use the option category or the option ignore "x"/,
  ],
  ["a formula", `${head}a,0,=A1+1,u\n`, /line 2: .* "x", got "=A1\+1"/],
  ["a formula in place of a name", `${head}=A1,0,1,u\n`, /line 2: a formula in column "series"/],
  ["an error of a spreadsheet", `${head}a,0,1,u\na,1,#REF!,u\n`, /line 3: .* got "#REF!"/],
  ["missing values", `${head}a,0,1,u\na,1,#N/A,u\na,2,null,u\n`, "x; a 0 1 2 | 1 NaN NaN u"],
  ["infinity", `${head}a,0,inf,u\n`, /line 2: .* "x", got "inf"/],
  [
    "a number beyond float32",
    `${head}a,0,1e39,u\n`,
    /line 2: expected a number up to 3.4e\+38 in column "x"/,
  ],
  ["categories", `${head}a,0,on,u\na,1,,u\na,2,off,u\n`, "x=on,x=off; a 0 1 2 | 1 0 NaN NaN 0 1 u"],
  [
    "a column with the name of another column's category channel",
    "series,time,c=on,c\na,0,1,on\n",
    /line 1: the columns "c=on" and "c" both make a channel "c=on"; rename one$/,
  ],
  ["an unknown category", `${head}a,0,on,u\n`, /line 2: expected one of "off" in column "x", got "on"/, {
    columns: { x: ["off"] },
  }],
  [
    "free text",
    `series,time,x,note\n${Array.from({ length: 60 }, (_, i) => `a,${i},1,n${i}\n`).join("")}`,
    /^x; a .* 1 1; column "note" \(text of 60 different values\)$/,
  ],
  ["a numeric category", `${head}a,0,1,u\na,1,2,u\n`, "x=1,x=2; a 0 1 | 1 0 0 1 u", { category: ["x"] }],
  [
    "two static values",
    "series,time,x,y\na,0,1,5\na,1,2,5\n",
    /line 3: series "a" has two values of the static column "x": 1 and 2/,
    {
      static: ["x"],
    },
  ],
  ["two labels", `${head}a,0,1,u\na,1,2,v\n`, /line 3: series "a" is labelled "u" and "v"/],
  ["a text target", good, /line 2: expected a number, .* "label", got "u"/, { targets: "numbers" }],
  ["targets in the order of the option", "series,time,x,p,q\na,0,1,2,3\n", "x; a 0 | 1  3 2", {
    ...{ targets: "numbers", target: ["q", "p"] },
  }],
  ["a missing target column", good, /no column "y" among .* the option target/, { target: ["y"] }],
  [
    "a missing ignored column",
    good,
    /line 1: no column "y" among .*, x, label; .* the option ignore$/,
    {
      ignore: ["y"],
    },
  ],
  ["an ignored column that an earlier table had", good, read, { ignore: ["y"], columns: {} }],
  ["one column for two roles", good, /cannot be both time and static/, { static: ["time"] }],
  [
    "unsorted rows",
    `${head}a,1,2,u\na,0,1,u\n`,
    "x; a 0 1 | 1 2 u; 1 row came before an earlier row of the same series: sorted by time",
  ],
  ["a row twice", `${head}a,0,1,u\na,0,1,u\n`, /^x; a 0 \| 1 u; 1 row merged .* did not differ$/],
  [
    "a time twice",
    `${head}a,0,1,u\na,0,3,u\n`,
    /line 3: .* two observations at time 0 that differ in "x"; set the option duplicates/,
  ],
  [
    "a duplicate day of eight digits",
    `${head}a,20240531,1,u\na,20240531,3,u\n`,
    /line 3: .* two observations at time 2024-05-31T00:00:00Z that differ in "x"/,
  ],
  [
    "duplicate times with the option for means",
    `${head}a,0,1,u\na,0,3,u\n`,
    /^x; a 0 \| 2 u; 1 row merged .* the mean was taken$/,
    {
      duplicates: "mean",
    },
  ],
  [
    "a word as time",
    `${head}a,later,1,u\n`,
    /line 2: expected a number or a date as time, got "later" in column "time"/,
  ],
  [
    "a date in another order",
    `${head}a,31.05.2024,1,u\n`,
    /line 2: .* got "31.05.2024" .*; write dates as 2024-05-31 18:00/,
  ],
  [
    "amounts of money",
    `${head}a,0,$5.20,u\n`,
    /line 2: expected a number, .* got "\$5.20"; use the option category/,
  ],
  ["negative numbers in brackets", `${head}a,0,(5),u\n`, /line 2: expected a number, .* got "\(5\)"/],
  ["a Unicode minus", `${head}a,0,\u22125,u\n`, /line 2: expected a number, .* got "\u22125"/],
  ["thousands", `${head}a,0,"1,234,000",u\n`, /line 2: .*; if the comma separates thousands, remove it$/],
  [
    "epochs in ms",
    `${head}a,${day}000,1,u\n`,
    /^x; a 1717113600 \| 1 u; times are read as dates: as milliseconds/,
  ],
  [
    "Unix times in ms after one in seconds",
    `${head}a,${day}000,1,u\n`,
    /line 2: expected seconds since 1970 .*, got "1717113600000" .* in milliseconds; use the option timeUnit milliseconds/,
    { numericTimes: "seconds" },
  ],
  [
    "Unix times in ms after one in seconds, with the option for units",
    `${head}a,${day}000,1,u\n`,
    `x; a ${day} | 1 u`,
    {
      ...{ numericTimes: "seconds", timeUnit: "milliseconds" },
    },
  ],
  [
    "fractional Unix times after one in ms",
    `${head}a,${day}.5,1,u\n`,
    /in seconds; use the option timeUnit seconds/,
    {
      numericTimes: "milliseconds",
    },
  ],
  ["small times after Unix times", `${head}a,60,1,u\n`, "x; a 60 | 1 u", { numericTimes: "seconds" }],
  ["Unix times after plain numbers", `${head}a,${day},1,u\n`, `x; a ${day} | 1 u`, {
    numericTimes: "number",
  }],
  ["dates of a zone", `${head}a,2024-05-31 02:00,1,u\n`, `x; a ${day} | 1 u`, { zone: "Europe/Berlin" }],
  [
    "an ambiguous hour at the end of daylight saving time",
    `${head}a,2024-10-27 02:30,1,u\na,2024-10-27 02:30,2,u\n`,
    /line 3: .* put back and show it twice: write times with offsets, as 2024-10-27T02:30:00\+01:00$/,
    { zone: "Europe/Berlin" },
  ],
  [
    "duplicate times outside the ambiguous hour",
    `${head}a,2024-10-27 03:30,1,u\na,2024-10-27 03:30,2,u\n`,
    /line 3: .* set the option duplicates to mean, first or last$/,
    { zone: "Europe/Berlin" },
  ],
  ["an unknown time zone", good, /no time zone "Mars\/Olympus"; expected a name such as Europe\/Berlin/, {
    zone: "Mars/Olympus",
  }],
  [
    "a wide table",
    "time,s1,s2\n0,1,2\n1,,3\n",
    "value; s1 0 | 1; s2 0 1 | 2 3; 1 empty field taken for no observation",
    {
      wide: true,
    },
  ],
  ["milliseconds as seconds", "time,x\n1e13,1\n", /line 2: expected seconds since 1970/, {
    timeUnit: "seconds",
  }],
  ["a wide table with duplicate times", "time,s1\n0,1\n0,2\n", /line 3: .* at time 0 .* the option duplic/, {
    wide: true,
  }],
  [
    "a wide table with means of duplicate times",
    "time,s1\n0,1\n0,2\n",
    /^value; s1 0 \| 1\.5; 1 row merged/,
    {
      wide: true,
      duplicates: "mean",
    },
  ],
  ["numeric times with a time zone", "time,x\n0,1\n", /; the zone Asia\/Tokyo is not used: /, {
    zone: "Asia/Tokyo",
  }],
  ["a word in a wide table", "time,s1\n0,1\n1,x\n", /line 3: .* "s1", got "x"/, { wide: true }],
]);
