//! What each format says, on the smallest file that says it.

use formats::document::Format;
use model::document::DateSource;

use crate::build::{docx, odf, paragraph, pdf, relations, zip};
use crate::{read, told};

#[test]
fn text_is_one_section_without_a_heading() {
    let document = read(Format::Text, b"One line.\r\n\r\nAnother.\n").unwrap();

    assert_eq!(told(&document), [": One line.\n\nAnother."]);
}

#[test]
fn text_is_read_in_the_encoding_its_bytes_tell() {
    let utf_16: Vec<u8> = "Grüße aus Köln"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let marked = [&[0xFF, 0xFE][..], &utf_16].concat();
    let (shift_jis, _, _) = encoding_rs::SHIFT_JIS
        .encode("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。");
    let (gb18030, _, _) = encoding_rs::GB18030
        .encode("人类的历史，就是一个不断地从必然王国向自由王国发展的历史。这个历史永远不会完结。");
    let (cp1252, _, _) = encoding_rs::WINDOWS_1252
        .encode("Der Müller läßt grüßen und fährt über die Brücke nach Köln.");

    for (bytes, expected) in [
        (&utf_16[..], "Grüße aus Köln"),
        (&marked, "Grüße aus Köln"),
        (&shift_jis, "吾輩は猫である"),
        (&gb18030, "人类的历史"),
        (&cp1252, "läßt grüßen"),
    ] {
        let document = read(Format::Text, bytes).unwrap();
        assert!(
            document.sections[0].body.contains(expected),
            "{:?}",
            document.sections[0].body
        );
    }
}

#[test]
fn a_page_is_read_as_a_browser_shows_it() {
    let page = b"<!doctype html><title>Ducks</title><meta name=date content=2024-05-06>
        <script>var hidden = 1</script><p>Before <b>all</b>.
        <h1>Birds</h1><p hidden>secret<ul><li>one<ul><li>inner</ul><li>two</ul>
        <h2>Table</h2><table><tr><th>a<th>b<tr><td rowspan=2>x<td>1<tr><td>2</table>
        <p>See <a href=https://example.org/>here</a>: 10<sup>6</sup> ducks.";

    let document = read(Format::Html, page).unwrap();

    assert_eq!(document.title.as_deref(), Some("Ducks"));
    assert_eq!(document.date.unwrap().value.to_string(), "2024-05-06");
    assert_eq!(document.left_out, ["1 hidden parts of the page"]);
    assert_eq!(
        document
            .sections
            .iter()
            .map(|section| section.body.as_str())
            .collect::<Vec<_>>(),
        [
            "Before all.",
            "- one\n  - inner\n- two",
            "| a | b |\n| --- | --- |\n| x | 1 |\n| x | 2 |\n\n\
             See [here](https://example.org/): 10⁶ ducks.",
        ]
    );
    assert_eq!(document.sections[2].heading_path, ["Birds", "Table"]);
}

#[test]
fn deep_nesting_is_read_as_text_and_endless_nesting_refused() {
    let deep = "<div>".repeat(2000) + "deep";
    let endless = "<div>".repeat(100_000) + "deep";

    assert_eq!(
        told(&read(Format::Html, deep.as_bytes()).unwrap()),
        [": deep"]
    );
    assert!(
        read(Format::Html, endless.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("levels deep")
    );
}

#[test]
fn a_word_document_keeps_text_before_its_first_heading_notes_boxes_and_changes() {
    let body = [
        paragraph("", "Before any heading."),
        paragraph("Heading1", "Scope"),
        "<w:p><w:r><w:t>Kept</w:t></w:r><w:ins><w:r><w:t xml:space=\"preserve\"> inserted</w:t></w:r></w:ins>\
         <w:del><w:r><w:delText> removed</w:delText></w:r></w:del>\
         <w:r><w:footnoteReference w:id=\"2\"/></w:r></w:p>"
            .to_owned(),
        "<w:p><w:r><mc:AlternateContent><mc:Choice><wps:txbx><w:txbxContent>".to_owned(),
        paragraph("", "In a box"),
        "</w:txbxContent></wps:txbx></mc:Choice><mc:Fallback><w:txbxContent>".to_owned(),
        paragraph("", "In a box"),
        "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>".to_owned(),
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc>".to_owned(),
        paragraph("", "b"),
        "</w:tc></w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr>".to_owned(),
        paragraph("", "both"),
        "</w:tc></w:tr></w:tbl><w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num>\
         <m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></w:p>"
            .to_owned(),
    ];
    let notes = format!(
        "<w:footnotes {}><w:footnote w:id=\"2\">{}</w:footnote></w:footnotes>",
        crate::build::WORD,
        paragraph("", "The note.")
    );
    let header = format!(
        "<w:hdr {}>{}</w:hdr>",
        crate::build::WORD,
        paragraph("", "Confidential")
    );
    let related = relations(&[
        ("r1", "footnotes", "footnotes.xml"),
        ("r2", "header", "header1.xml"),
        ("r3", "header", "header2.xml"),
    ]);
    let core = "<cp:coreProperties xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/metadata/core-properties\" \
        xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:dcterms=\"http://purl.org/dc/terms/\">\
        <dc:title>Rules</dc:title><dcterms:modified>2024-05-06T07:08:09Z</dcterms:modified></cp:coreProperties>";
    let file = docx(
        &body.concat(),
        &[
            ("word/_rels/document.xml.rels", &related),
            ("word/footnotes.xml", &notes),
            ("word/header1.xml", &header),
            ("word/header2.xml", &header),
            ("docProps/core.xml", core),
        ],
    );

    let document = read(Format::Docx, &file).unwrap();

    assert_eq!(
        told(&document),
        [
            ": Confidential\n\nBefore any heading.",
            "Scope: Kept inserted[^2]\n\nIn a box\n\n| a | b |\n| --- | --- |\n| both | both |\n\n\
             $\\frac{1}{2}$\n\n[^2]: The note.",
        ]
    );
    assert_eq!(document.left_out, ["8 characters of tracked deletions"]);
    assert_eq!(document.title.as_deref(), Some("Rules"));
    assert_eq!(
        document.date.as_ref().unwrap().source,
        DateSource::FrontMatter
    );
    assert_eq!(
        document.date.unwrap().value.to_string(),
        "2024-05-06T07:08:09Z"
    );
}

#[test]
fn numbers_of_a_word_list_are_counted() {
    let numbering = format!(
        "<w:numbering {}><w:abstractNum w:abstractNumId=\"0\">\
         <w:lvl w:ilvl=\"0\"><w:numFmt w:val=\"decimal\"/><w:lvlText w:val=\"%1.\"/></w:lvl>\
         <w:lvl w:ilvl=\"1\"><w:numFmt w:val=\"lowerLetter\"/><w:lvlText w:val=\"%2)\"/></w:lvl>\
         </w:abstractNum><w:num w:numId=\"1\"><w:abstractNumId w:val=\"0\"/></w:num></w:numbering>",
        crate::build::WORD
    );
    let item = |level: u8, text: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"1\"/></w:numPr></w:pPr>\
             <w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let body = [
        item(0, "one"),
        item(1, "inner"),
        item(1, "inner"),
        item(0, "two"),
        item(1, "again"),
    ];
    let related = relations(&[("r1", "numbering", "numbering.xml")]);
    let parts = [
        ("word/_rels/document.xml.rels", related.as_str()),
        ("word/numbering.xml", &numbering),
    ];

    let document = read(Format::Docx, &docx(&body.concat(), &parts)).unwrap();

    assert_eq!(
        told(&document),
        [": 1. one\n  a) inner\n  b) inner\n2. two\n  a) again"]
    );
}

#[test]
fn a_pdf_is_read_page_by_page_and_a_scanned_page_is_named() {
    let page =
        "BT /F1 10 Tf 12 TL 50 700 Td (First exam-) Tj T* (ple line.) Tj 0 -40 Td (Second.) Tj ET";
    let drawn = "0 0 100 100 re f /CS9 cs 0.5 scn";

    let document = read(Format::Pdf, &pdf(&[page, drawn, "q 1 0 0 1 0 0 cm Q"])).unwrap();

    assert_eq!(told(&document), [": First example\nline.\n\nSecond."]);
    assert_eq!(document.left_out, ["pages 2-3 have no text layer"]);
    assert_eq!(document.title.as_deref(), Some("A Ledger"));
    assert_eq!(
        document.date.unwrap().value.to_string(),
        "2024-05-06T07:08:09Z"
    );
}

#[test]
fn csv_is_a_table_whatever_parts_its_values() {
    let comma = b"name,note\nAnn,\"tea, or | coffee\"\nBob,\n";
    let semicolon = b"name;note\nAnn;tea\nBob;coffee;extra\n";

    assert_eq!(
        told(&read(Format::Csv, comma).unwrap()),
        [": | name | note |\n| --- | --- |\n| Ann | tea, or \\| coffee |\n| Bob |  |"]
    );
    assert_eq!(
        told(&read(Format::Csv, semicolon).unwrap()),
        [": | name | note |  |\n| --- | --- | --- |\n| Ann | tea |\n| Bob | coffee | extra |"]
    );
}

#[test]
fn a_workbook_shows_its_values_as_excel_does() {
    let space = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
                 xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
    let workbook = format!(
        "<workbook {space}><sheets><sheet name=\"Sales\" r:id=\"r1\"/>\
         <sheet name=\"Keys\" state=\"hidden\" r:id=\"r2\"/></sheets></workbook>"
    );
    let sheet = format!(
        "<worksheet {space}><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c>\
         <c r=\"B1\" t=\"inlineStr\"><is><t>share</t></is></c></row>\
         <row r=\"2\"><c r=\"A2\" s=\"1\"><v>45292</v></c><c r=\"B2\" s=\"2\"><v>0.25</v></c></row>\
         <row r=\"5\"><c r=\"A5\"><v>0.30000000000000004</v></c></row></sheetData></worksheet>"
    );
    let strings = format!("<sst {space}><si><r><t>d</t></r><r><t>ay</t></r></si></sst>");
    let styles = format!(
        "<styleSheet {space}><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"9\"/></cellXfs></styleSheet>"
    );
    let file = zip(&[
        (
            "_rels/.rels",
            &relations(&[("r1", "officeDocument", "xl/workbook.xml")]),
        ),
        ("xl/workbook.xml", &workbook),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(&[
                ("r1", "worksheet", "worksheets/sheet1.xml"),
                ("r2", "worksheet", "worksheets/sheet2.xml"),
                ("r3", "sharedStrings", "sharedStrings.xml"),
                ("r4", "styles", "styles.xml"),
            ]),
        ),
        ("xl/worksheets/sheet1.xml", &sheet),
        ("xl/worksheets/sheet2.xml", &sheet),
        ("xl/sharedStrings.xml", &strings),
        ("xl/styles.xml", &styles),
    ]);

    let document = read(Format::Xlsx, &file).unwrap();

    assert_eq!(
        told(&document),
        ["Sales: | day | share |\n| --- | --- |\n| 2024-01-01 | 25% |\n\n0.3"]
    );
    assert_eq!(document.left_out, ["sheet `Keys` is hidden"]);
}

#[test]
fn a_slide_is_a_section_headed_by_its_title() {
    let space = "xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" \
                 xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
                 xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
    let shape = |kind: &str, lines: &[&str]| {
        let lines: Vec<String> = lines
            .iter()
            .map(|line| format!("<a:p><a:r><a:t>{line}</a:t></a:r></a:p>"))
            .collect();
        let lines = lines.concat();
        format!(
            "<p:sp><p:nvSpPr><p:nvPr><p:ph type=\"{kind}\"/></p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"
        )
    };
    let slide = |shapes: &str, show: &str| {
        format!("<p:sld {space}{show}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>")
    };
    let first = slide(
        &(shape("title", &["Plan"]) + &shape("body", &["one", "two"])),
        "",
    );
    let second = slide(&shape("title", &["Secret"]), " show=\"0\"");
    let main = format!(
        "<p:presentation {space}><p:sldIdLst><p:sldId r:id=\"r1\"/><p:sldId r:id=\"r2\"/></p:sldIdLst></p:presentation>"
    );
    let file = zip(&[
        (
            "_rels/.rels",
            &relations(&[("r1", "officeDocument", "ppt/presentation.xml")]),
        ),
        ("ppt/presentation.xml", &main),
        (
            "ppt/_rels/presentation.xml.rels",
            &relations(&[
                ("r1", "slide", "slides/slide1.xml"),
                ("r2", "slide", "slides/slide2.xml"),
            ]),
        ),
        ("ppt/slides/slide1.xml", &first),
        ("ppt/slides/slide2.xml", &second),
    ]);

    let document = read(Format::Pptx, &file).unwrap();

    assert_eq!(told(&document), ["Plan: - one\n- two"]);
    assert_eq!(document.left_out, ["slide 2 is hidden"]);
}

#[test]
fn an_open_document_list_shows_the_marks_that_its_style_shows() {
    let style = |name: &str, level: &str| {
        format!(
            "<text:list-style style:name=\"{name}\"><text:{level} text:level=\"1\"/></text:list-style>"
        )
    };
    let list = |style: &str| {
        format!(
            "<text:list text:style-name=\"{style}\"><text:list-item><text:p>{style}</text:p></text:list-item></text:list>"
        )
    };
    let styles = style("dots", "list-level-style-bullet text:bullet-char=\"•\"")
        + &style("counted", "list-level-style-number style:num-format=\"1\"")
        + &style("plain", "list-level-style-number style:num-format=\"\"");
    let body = styles + &list("dots") + &list("counted") + &list("plain");

    let document = read(Format::Odt, &odf("text", &body)).unwrap();

    assert_eq!(told(&document), [": - dots\n\n1. counted\n\nplain"]);
}

#[test]
fn an_open_document_text_keeps_lists_notes_and_tables() {
    let body = "<text:p>Before.</text:p><text:h text:outline-level=\"1\">Scope</text:h>\
        <text:p>Two<text:s text:c=\"2\"/>spaces<text:note><text:note-citation>1</text:note-citation>\
        <text:note-body><text:p>The note.</text:p></text:note-body></text:note></text:p>\
        <text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p>\
        </text:list-item></text:list></text:list-item></text:list>\
        <table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>\
        <table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>";

    let document = read(Format::Odt, &odf("text", body)).unwrap();

    assert_eq!(
        told(&document),
        [
            ": Before.",
            "Scope: Two  spaces[^1]\n\n- one\n  - inner\n\n| a | b |\n| --- | --- |\n\n[^1]: The note."
        ]
    );
}

#[test]
fn an_open_document_sheet_ends_where_its_text_does() {
    let body = "<table:table table:name=\"Sales\"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>\
        <table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>\
        <table:table-row table:number-rows-repeated=\"1048575\"><table:table-cell table:number-columns-repeated=\"16384\"/>\
        </table:table-row></table:table>";

    let document = read(Format::Ods, &odf("spreadsheet", body)).unwrap();

    assert_eq!(told(&document), ["Sales: | a | b |\n| --- | --- |"]);
}

#[test]
fn an_open_document_slide_has_its_notes() {
    let body = "<draw:page draw:name=\"p1\"><draw:frame presentation:class=\"title\"><draw:text-box><text:p>Plan</text:p>\
        </draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>Body</text:p></draw:text-box></draw:frame>\
        <presentation:notes><draw:frame presentation:class=\"notes\"><draw:text-box><text:p>Say it.</text:p></draw:text-box>\
        </draw:frame></presentation:notes></draw:page>";

    let document = read(Format::Odp, &odf("presentation", body)).unwrap();

    assert_eq!(told(&document), ["Plan: Body\n\nNotes: Say it."]);
}

#[test]
fn a_mail_names_its_attachments() {
    let mail = b"From: Ann Lee <ann@example.org>\r\nTo: bob@example.org\r\n\
        Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nDate: Mon, 6 May 2024 09:00:00 +0200\r\n\
        MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n\
        --x\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
        Sch=F6n.\r\n--x\r\nContent-Type: application/pdf; name=plan.pdf\r\n\
        Content-Disposition: attachment; filename=plan.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n--x--\r\n";

    let document = read(Format::Eml, mail).unwrap();

    assert_eq!(
        told(&document),
        [
            "Grüße: From: Ann Lee <ann@example.org>\nTo: bob@example.org\n\
          Date: Mon, 6 May 2024 09:00:00 +0200\n\nSchön."
        ]
    );
    assert_eq!(
        document.left_out,
        ["attachment `plan.pdf` (application/pdf); send it as a document of its own"]
    );
    assert_eq!(
        document.date.unwrap().value.to_string(),
        "2024-05-06T07:00:00Z"
    );
}

#[test]
fn a_book_is_read_in_the_order_of_its_spine() {
    let container = "<container xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\"><rootfiles>\
        <rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>";
    let package = "<package xmlns=\"http://www.idpf.org/2007/opf\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\
        <metadata><dc:title>Tales</dc:title><dc:date>1861</dc:date></metadata>\
        <manifest><item id=\"b\" href=\"two.xhtml\" media-type=\"application/xhtml+xml\"/>\
        <item id=\"a\" href=\"ch%201.xhtml\" media-type=\"application/xhtml+xml\"/></manifest>\
        <spine><itemref idref=\"a\"/><itemref idref=\"b\"/></spine></package>";
    let file = zip(&[
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", container),
        ("OEBPS/book.opf", package),
        (
            "OEBPS/two.xhtml",
            "<?xml version=\"1.0\"?><!DOCTYPE html><html><body><h1>Two</h1><p>End.</p></body></html>",
        ),
        (
            "OEBPS/ch 1.xhtml",
            "<html><body><h1>One</h1><p>Start.</p></body></html>",
        ),
    ]);

    let document = read(Format::Epub, &file).unwrap();

    assert_eq!(told(&document), ["One: Start.", "Two: End."]);
    assert_eq!(document.title.as_deref(), Some("Tales"));
    assert_eq!(document.date.unwrap().value.to_string(), "1861");
}

#[test]
fn rich_text_is_read_in_the_code_pages_of_its_fonts() {
    let rtf = b"{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset0 Arial;}{\\f1\\fcharset204 Arial Cyr;}}\
        {\\stylesheet{\\s1 heading 1;}}{\\info{\\title Notes}{\\creatim\\yr2024\\mo5\\dy6}}\
        \\pard\\s1 Scope\\par\\pard Sch\\'f6n {\\f1\\'cf\\'f0\\'e8\\'e2\\'e5\\'f2} \\u8364?5 {\\v secret}{\\deleted gone}\\par\
        {\\pntext\\'b7\\tab}item\\par\
        \\trowd\\pard\\intbl a\\cell b\\cell\\row\\pard End{\\footnote The note.}.\\par}";

    let document = read(Format::Rtf, rtf).unwrap();

    assert_eq!(
        told(&document),
        [
            "Scope: Schön Привет €5\n\n- item\n\n| a | b |\n| --- | --- |\n\nEnd[^1].\n\n[^1]: The note."
        ]
    );
    assert_eq!(document.title.as_deref(), Some("Notes"));
    assert_eq!(document.date.unwrap().value.to_string(), "2024-05-06");
    assert_eq!(
        document.left_out,
        [
            "4 characters of tracked deletions",
            "6 characters of hidden text"
        ]
    );
}
