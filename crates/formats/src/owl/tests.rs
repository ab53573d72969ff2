use std::fmt::Write as _;

use model::fact::Temporality;
use model::ontology::declared::{DeclaredClass, DeclaredProperty};
use model::ontology::{Axioms, Datatype, RelationKind};
use proptest::prelude::*;

use super::*;

const HEAD: &str = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n\
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n\
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n\
    @prefix schema: <https://schema.org/> .\n\
    @prefix base: <urn:utopia:ns:> .\n\
    @prefix ex: <http://example.org/> .\n";

fn turtle(text: &str) -> Result<Declarations, OwlError> {
    read(format!("{HEAD}{text}").as_bytes(), None, &Limits::default())
}

fn told(declared: &Declarations) -> Vec<String> {
    let told = declared.left_out.iter();
    told.map(|one| format!("{}: {}", short(&one.name), short(&one.reason)))
        .collect()
}

fn short(text: &str) -> String {
    text.replace("http://example.org/", "ex:")
}

fn shorts(iris: &[String]) -> Vec<String> {
    iris.iter().map(|iri| short(iri)).collect()
}

#[test]
fn kinds_have_several_parents_labels_and_what_they_are_disjoint_with() {
    let declared = turtle(
        "ex: a owl:Ontology ; owl:imports <http://other.example/core> .\n\
         ex:Firm a owl:Class ; rdfs:subClassOf ex:Agent, owl:Thing, ex:Owner ; owl:disjointWith ex:Person ;\n\
           rdfs:label 'Firma'@de, 'Company'@en, 'Firm' ; rdfs:comment 'sells  things'@en-GB, 'verkauft'@de .\n\
         ex:Agent a rdfs:Class ; rdfs:label 'Wer handelt'@de, 'Qui agit'@fr .\n\
         ex:Owner rdfs:subClassOf ex:Agent .\n\
         ex:Person a owl:Class ; owl:equivalentClass schema:Person .\n\
         [] a owl:AllDisjointClasses ; owl:members (ex:Agent ex:Person ex:Place) .\n\
         ex:Place a owl:Class .\n\
         ex:Kind owl:disjointUnionOf (ex:Person ex:Place) .\n\
         ex:acme a ex:Firm .",
    )
    .unwrap();

    assert_eq!(declared.iri.as_deref(), Some("http://example.org/"));
    let names: Vec<String> = declared.classes.iter().map(|one| short(&one.iri)).collect();
    assert_eq!(
        names,
        ["ex:Firm", "ex:Agent", "ex:Owner", "ex:Person", "ex:Place"]
    );
    let [firm, agent, owner, person, place] = &declared.classes[..] else {
        panic!("five kinds")
    };
    assert_eq!(shorts(&firm.parents), ["ex:Agent", "ex:Owner"]);
    assert_eq!(shorts(&firm.disjoint_with), ["ex:Person"]);
    assert_eq!(firm.label.as_deref(), Some("Company"));
    assert_eq!(firm.description.as_deref(), Some("sells  things"));
    assert_eq!(agent.label.as_deref(), Some("Wer handelt"));
    assert_eq!(shorts(&owner.parents), ["ex:Agent"]);
    assert_eq!(person.same_as, ["https://schema.org/Person"]);
    assert_eq!(shorts(&person.disjoint_with), ["ex:Place"]);
    assert_eq!(shorts(&agent.disjoint_with), ["ex:Person", "ex:Place"]);
    assert_eq!(shorts(&place.parents), ["ex:Kind"]);
    assert_eq!(
        told(&declared),
        [
            "individuals: 1 individuals, which are no words: ex:acme",
            "http://other.example/core: it is named by owl:imports and not fetched; import its file by itself",
        ]
    );
}

#[test]
fn relations_and_attributes_have_all_that_a_base_knows_of_them() {
    let declared = turtle(
        "ex:leads a owl:ObjectProperty, owl:FunctionalProperty, owl:AsymmetricProperty, owl:IrreflexiveProperty ;\n\
           owl:inverseOf ex:ledBy ; rdfs:subPropertyOf ex:worksFor, owl:topObjectProperty ;\n\
           rdfs:domain [ a owl:Class ; owl:unionOf (ex:Person [ owl:unionOf (ex:Board ex:Person) ]) ] ;\n\
           rdfs:range ex:Firm, owl:Thing .\n\
         ex:kin a owl:SymmetricProperty, owl:TransitiveProperty, owl:InverseFunctionalProperty ; base:temporal 'eternal' .\n\
         ex:revenue a owl:DatatypeProperty ; rdfs:range xsd:decimal ; base:unit 'EUR' ; base:temporal 'event' .\n\
         ex:founded a owl:DatatypeProperty ; rdfs:range xsd:gYear .\n\
         ex:active a owl:FunctionalProperty ; rdfs:range xsd:boolean .\n\
         ex:code a owl:DatatypeProperty ; rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:integer ; owl:withRestrictions () ] .\n\
         ex:address a rdf:Property ; schema:domainIncludes ex:Firm, ex:Person ; schema:rangeIncludes ex:Place, schema:Text .\n\
         ex:motto a rdf:Property ; schema:rangeIncludes schema:Text .",
    )
    .unwrap();

    let found = |name: &str| {
        let iri = format!("http://example.org/{name}");
        declared
            .properties
            .iter()
            .find(|one| one.iri == iri)
            .unwrap()
    };
    let leads = found("leads");
    assert_eq!(
        leads.axioms,
        Axioms {
            functional: true,
            asymmetric: true,
            irreflexive: true,
            ..Axioms::default()
        }
    );
    assert_eq!(
        leads.inverse_of.as_deref().map(short).as_deref(),
        Some("ex:ledBy")
    );
    assert_eq!(
        leads.sub_property_of.as_deref().map(short).as_deref(),
        Some("ex:worksFor")
    );
    assert_eq!(shorts(&leads.domains), ["ex:Person", "ex:Board"]);
    assert_eq!(shorts(&leads.ranges), ["ex:Firm"]);
    let kin = found("kin");
    assert_eq!(
        (kin.kind, kin.temporality),
        (RelationKind::Relation, Some(Temporality::Eternal))
    );
    assert!(kin.axioms.symmetric && kin.axioms.transitive && kin.axioms.inverse_functional);
    let revenue = found("revenue");
    assert_eq!(
        (revenue.kind, revenue.datatype),
        (RelationKind::Attribute, Some(Datatype::Number))
    );
    assert_eq!(
        (revenue.unit.as_deref(), revenue.temporality),
        (Some("EUR"), Some(Temporality::Event))
    );
    assert_eq!(found("founded").datatype, Some(Datatype::Date));
    assert_eq!(found("active").datatype, Some(Datatype::Bool));
    assert_eq!(found("code").datatype, Some(Datatype::Number));
    let address = found("address");
    assert_eq!(shorts(&address.domains), ["ex:Firm", "ex:Person"]);
    assert_eq!(shorts(&address.ranges), ["ex:Place"]);
    assert_eq!(found("motto").datatype, Some(Datatype::Text));
    assert_eq!(
        told(&declared),
        [
            "ex:code: the bounds of its values (owl:onDatatype)",
            "ex:address: that it also leads to values: it is taken as a relation to things",
        ]
    );
}

#[test]
fn what_a_base_has_no_place_for_is_named() {
    let declared = turtle(
        "ex:Parent a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:child ; owl:someValuesFrom ex:Person ] ;\n\
           owl:equivalentClass [ owl:intersectionOf (ex:Person ex:Adult) ] ; owl:hasKey (ex:name) .\n\
         ex:Colour a owl:Class ; owl:oneOf (ex:red ex:green) .\n\
         ex:uncle a owl:ObjectProperty, owl:ReflexiveProperty ; owl:propertyChainAxiom (ex:parent ex:brother) ;\n\
           owl:inverseOf [ owl:inverseOf ex:niece ] ; rdfs:subPropertyOf ex:kin, ex:relative ; base:temporal 'always' .\n\
         ex:odd a owl:ObjectProperty, owl:DatatypeProperty .\n\
         ex:note a owl:AnnotationProperty .\n\
         ex:bare a rdf:Property .",
    )
    .unwrap();

    assert_eq!(declared.properties.len(), 1);
    assert_eq!(
        told(&declared),
        [
            "ex:Parent: a wider kind without a name (owl:Restriction)",
            "ex:Parent: an equal kind without a name (owl:intersectionOf)",
            "ex:Parent: what it is made of (owl:hasKey)",
            "ex:Colour: what it is made of (owl:oneOf)",
            "ex:uncle: how it stands in time, which is none of `state`, `event` and `eternal`",
            "ex:uncle: an inverse without a name (owl:inverseOf)",
            "ex:uncle: a wider relation beside the first, <ex:relative>",
            "ex:uncle: what follows from a chain (owl:propertyChainAxiom)",
            "ex:uncle: that everything has it to itself (owl:ReflexiveProperty)",
            "ex:odd: it is said to be a relation and an attribute at once",
            "ex:note: an annotation property: it says something of words, not of things",
            "ex:bare: neither its kind nor its range says whether it leads to things or to values",
        ]
    );
}

const RDF_XML: &str = r#"<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY owl "http://www.w3.org/2002/07/owl#"> <!ENTITY ex "http://example.org/"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
  <owl:Class rdf:about="&ex;Firm"><rdfs:label xml:lang="en">Firm</rdfs:label>
    <rdfs:subClassOf rdf:resource="&ex;Agent"/></owl:Class>
  <owl:ObjectProperty rdf:about="&ex;leads"><rdf:type rdf:resource="&owl;FunctionalProperty"/>
    <rdfs:range><owl:Class><owl:unionOf rdf:parseType="Collection">
      <rdf:Description rdf:about="&ex;Firm"/><rdf:Description rdf:about="&ex;Club"/></owl:unionOf></owl:Class></rdfs:range>
  </owl:ObjectProperty>
</rdf:RDF>"#;

#[test]
fn rdf_xml_says_the_same_as_turtle() {
    let xml = read(RDF_XML.as_bytes(), None, &Limits::default()).unwrap();
    let same = turtle(
        "ex:Firm a owl:Class ; rdfs:label 'Firm'@en ; rdfs:subClassOf ex:Agent .\n\
         ex:leads a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:range [ a owl:Class ; owl:unionOf (ex:Firm ex:Club) ] .",
    );

    assert_eq!(xml, same.unwrap());
    let marked = format!("\u{feff}{RDF_XML}");
    assert_eq!(
        read(marked.as_bytes(), None, &Limits::default()).unwrap(),
        xml
    );
}

#[test]
fn relative_names_need_something_to_be_relative_to() {
    let limits = Limits::default();
    let file = b"<#Firm> a <http://www.w3.org/2002/07/owl#Class> .";
    assert_eq!(read(file, None, &limits), Err(OwlError::NoBase));
    assert_eq!(read(file, Some("words"), &limits), Err(OwlError::BadBase));
    let read_with = read(file, Some("http://example.org/words"), &limits).unwrap();
    assert_eq!(read_with.classes[0].iri, "http://example.org/words#Firm");

    let file = RDF_XML.replace("&ex;Firm\"><rdfs:label", "#Firm\"><rdfs:label");
    assert_eq!(read(file.as_bytes(), None, &limits), Err(OwlError::NoBase));
    assert!(read(file.as_bytes(), Some("http://example.org/words"), &limits).is_ok());
}

#[test]
fn files_that_are_something_else_are_refused_by_what_they_are() {
    let limits = Limits::default();
    let refused = |bytes: &[u8]| read(bytes, None, &limits).unwrap_err().to_string();
    for (bytes, sentence) in [
        (&b""[..], "the file is empty"),
        (b"# only a comment", "the file is empty"),
        (b"{\"@context\": {}}", "the file is JSON"),
        (
            b"Prefix(:=<http://example.org/>)",
            "the file is OWL in functional syntax",
        ),
        (
            b"Ontology: <http://example.org/>",
            "the file is OWL in Manchester syntax",
        ),
        (
            b"<?xml version=\"1.0\"?><Ontology xmlns=\"http://www.w3.org/2002/07/owl#\"/>",
            "the file is OWL/XML",
        ),
        (b"<!DOCTYPE html><html><body/></html>", "the file is HTML"),
        (b"\xff\xfe@\0p\0", "the file is text in UTF-16"),
        (b"PK\x03\x04\xff", "the file is a ZIP archive"),
        (b"<a> <b> 'caf\xe9' .", "the file is not UTF-8 at byte 12"),
        (
            b"@prefix ex: <http://example.org/> . ex:A a",
            "the file is no well-formed Turtle",
        ),
        (b"ex:A a ex:B .", "the file is no well-formed Turtle"),
        (
            RDF_XML.as_bytes().split_at(600).0,
            "the file is no well-formed RDF/XML",
        ),
    ] {
        let told = refused(bytes);
        assert!(told.starts_with(sentence), "{sentence}: {told}");
        assert!(told.len() < 500);
    }
}

fn with_doctype(doctype: &str, text: &str) -> Vec<u8> {
    format!(
        "<?xml version=\"1.0\"?><!DOCTYPE rdf:RDF [{doctype}]>\
         <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
         xmlns:rdfs=\"http://www.w3.org/2000/01/rdf-schema#\">\
         <rdfs:Class rdf:about=\"http://example.org/A\"><rdfs:comment>{text}</rdfs:comment></rdfs:Class></rdf:RDF>"
    )
    .into_bytes()
}

#[test]
fn entities_are_pieces_of_text_and_nothing_else() {
    let small = Limits {
        bytes: 20_000,
        ..Limits::default()
    };
    let mut bomb = String::from("<!ENTITY a0 \"lol\">");
    for n in 1..30 {
        let _ = write!(bomb, "<!ENTITY a{n} \"&a{0};&a{0};&a{0};&a{0};\">", n - 1);
    }
    let many: String = (0..300).map(|n| format!("<!ENTITY e{n} \"x\">")).collect();
    let wide = format!("<!ENTITY w \"{}\">", "w".repeat(900));
    for (doctype, text, sentence) in [
        (
            bomb.as_str(),
            "&a29;",
            "the file declares the entity `a1`, which is made of other entities",
        ),
        (
            "<!ENTITY x SYSTEM \"file:///etc/passwd\">",
            "&x;",
            "the file declares the entity `x`, which is no text in quotes",
        ),
        (
            "<!ENTITY x PUBLIC \"a\" \"http://example.org/x\">",
            "&x;",
            "the file declares the entity `x`, which is no text in quotes",
        ),
        (
            "<!ENTITY % p \"x\">",
            "",
            "the file declares the entity `%`, which stands for declarations",
        ),
        (&many, "", "the file has more than 200 entities"),
        (
            &wide,
            &"&w;".repeat(100),
            "the file has more than 20000 bytes once its entities are written out",
        ),
    ] {
        let told = read(&with_doctype(doctype, text), None, &small)
            .unwrap_err()
            .to_string();
        assert!(told.starts_with(sentence), "{sentence}: {told}");
    }
    let plain = read(&with_doctype("<!ENTITY x 'well'>", "all"), None, &small);
    assert!(
        plain.is_ok() || matches!(plain, Err(OwlError::Broken { .. })),
        "{plain:?}"
    );
    let plain = read(
        &with_doctype("<!ENTITY x \"well\">", "all is &x;"),
        None,
        &small,
    )
    .unwrap();
    assert_eq!(plain.classes[0].description.as_deref(), Some("all is well"));
}

#[test]
fn what_is_larger_than_anybody_writes_is_refused_by_its_bound() {
    let limits = Limits::default();
    let refused = |text: String| {
        read(text.as_bytes(), None, &limits)
            .unwrap_err()
            .to_string()
    };

    let classes: String = (0..100_000)
        .map(|n| format!("ex:C{n} a owl:Class .\n"))
        .collect();
    assert_eq!(
        refused(format!("{HEAD}{classes}")),
        "the file has more than 10000 words"
    );

    let list: String = (0..2_000).map(|n| format!("ex:C{n} ")).collect();
    let domain =
        format!("{HEAD}ex:p a owl:ObjectProperty ; rdfs:domain [ owl:unionOf ({list}) ] .");
    assert_eq!(
        refused(domain),
        "the file has more than 1000 members of one list"
    );

    let members: String = (0..900).map(|n| format!("ex:C{n} ")).collect();
    let disjoint = format!("{HEAD}[] a owl:AllDisjointClasses ; owl:members ({members}) .");
    assert_eq!(
        refused(disjoint),
        "the file has more than 100000 pairs of disjoint kinds"
    );

    let statements = format!("{HEAD}ex:A rdfs:label {} .", vec!["'x'"; 600_000].join(","));
    assert_eq!(
        refused(statements),
        "the file has more than 500000 statements about words"
    );

    let open = "<rdf:Description><rdf:value>".repeat(300);
    let deep = format!("<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">{open}");
    assert_eq!(
        refused(deep),
        "the file has more than 200 levels of elements within one another"
    );

    let too_long = read(&vec![b' '; limits.bytes + 1], None, &limits).unwrap_err();
    assert_eq!(
        too_long.to_string(),
        "the file has more than 33554432 bytes"
    );
}

#[test]
fn deep_nesting_and_long_chains_take_no_stack() {
    let nested = format!(
        "{HEAD}ex:p a owl:ObjectProperty ; rdfs:domain {} ex:A {} .",
        "[ owl:unionOf ( ".repeat(20_000),
        ") ]".repeat(20_000)
    );
    let read_nested = read(nested.as_bytes(), None, &Limits::default());
    assert!(
        matches!(
            read_nested,
            Err(OwlError::TooLarge { .. } | OwlError::Broken { .. })
        ),
        "{read_nested:?}"
    );

    let chain: String = (0..9_000)
        .map(|n| format!("ex:C{n} a owl:Class ; rdfs:subClassOf ex:C{} .\n", n + 1))
        .collect();
    assert_eq!(turtle(&chain).unwrap().classes.len(), 9_000);

    let looped = turtle(
        "ex:p a owl:ObjectProperty ; rdfs:domain [ owl:unionOf _:l ] . _:l rdf:first ex:A ; rdf:rest _:l .",
    );
    assert_eq!(looped, Err(OwlError::List("it leads back into itself")));
}

/// The shape in which an export says the words of a base.
fn written(declared: &Declarations) -> String {
    let mut out = HEAD.to_owned();
    let texts = |out: &mut String, label: &Option<String>, description: &Option<String>| {
        for (word, text) in [("rdfs:label", label), ("rdfs:comment", description)] {
            if let Some(text) = text {
                let _ = write!(out, " ;\n  {word} {}", quoted(text));
            }
        }
    };
    let links = |out: &mut String, word: &str, iris: &[String]| {
        for iri in iris {
            let _ = write!(out, " ;\n  {word} <{iri}>");
        }
    };
    for class in &declared.classes {
        let _ = write!(out, "<{}> a owl:Class", class.iri);
        texts(&mut out, &class.label, &class.description);
        links(&mut out, "rdfs:subClassOf", &class.parents);
        links(&mut out, "owl:disjointWith", &class.disjoint_with);
        out.push_str(" .\n");
    }
    for property in &declared.properties {
        let kind = match property.kind {
            RelationKind::Relation => "owl:ObjectProperty",
            RelationKind::Attribute => "owl:DatatypeProperty",
        };
        let _ = write!(out, "<{}> a {kind}", property.iri);
        for (holds, axiom) in [
            (property.axioms.functional, "Functional"),
            (property.axioms.inverse_functional, "InverseFunctional"),
            (property.axioms.transitive, "Transitive"),
            (property.axioms.symmetric, "Symmetric"),
            (property.axioms.asymmetric, "Asymmetric"),
            (property.axioms.irreflexive, "Irreflexive"),
        ] {
            if holds {
                let _ = write!(out, ", owl:{axiom}Property");
            }
        }
        texts(&mut out, &property.label, &property.description);
        links(&mut out, "owl:inverseOf", property.inverse_of.as_slice());
        links(
            &mut out,
            "rdfs:subPropertyOf",
            property.sub_property_of.as_slice(),
        );
        links(&mut out, "rdfs:domain", &property.domains);
        links(&mut out, "rdfs:range", &property.ranges);
        if let Some(datatype) = property.datatype {
            let name = match datatype {
                Datatype::Text => "string",
                Datatype::Number => "decimal",
                Datatype::Date => "date",
                Datatype::Bool => "boolean",
            };
            let _ = write!(out, " ;\n  rdfs:range xsd:{name}");
        }
        if let Some(unit) = &property.unit {
            let _ = write!(out, " ;\n  base:unit {}", quoted(unit));
        }
        if let Some(temporality) = property.temporality {
            let _ = write!(out, " ;\n  base:temporal \"{}\"", temporality.name());
        }
        out.push_str(" .\n");
    }
    out
}

fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}

fn iri_of(space: &'static str) -> impl Strategy<Value = String> {
    (0_u8..12).prop_map(move |n| format!("http://example.org/{space}/n{n}"))
}

fn unique(strategy: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(strategy, 0..4).prop_map(|mut iris| {
        iris.sort();
        iris.dedup();
        iris
    })
}

fn label() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[a-zA-Zéß首\"\\\\]{1,12}")
}

fn a_class() -> impl Strategy<Value = DeclaredClass> {
    (
        iri_of("class"),
        label(),
        label(),
        unique(iri_of("class")),
        unique(iri_of("class")),
    )
        .prop_map(
            |(iri, label, description, parents, disjoint_with)| DeclaredClass {
                iri,
                label,
                description,
                parents,
                disjoint_with,
                same_as: Vec::new(),
            },
        )
}

fn a_property() -> impl Strategy<Value = DeclaredProperty> {
    let datatype = prop::sample::select(vec![
        Datatype::Text,
        Datatype::Number,
        Datatype::Date,
        Datatype::Bool,
    ]);
    let temporality = prop::sample::select(vec![
        None,
        Some(Temporality::State),
        Some(Temporality::Event),
        Some(Temporality::Eternal),
    ]);
    let other = || prop::option::of(iri_of("relation"));
    let flags = prop::collection::vec(any::<bool>(), 6);
    let kinds = || unique(iri_of("class"));
    let of_relation = (other(), other(), kinds(), kinds(), flags);
    (
        iri_of("relation"),
        label(),
        prop::option::of(datatype),
        temporality,
        of_relation,
    )
        .prop_map(
            |(
                iri,
                label,
                datatype,
                temporality,
                (inverse_of, sub_property_of, domains, ranges, flags),
            )| {
                let leads = datatype.is_none();
                DeclaredProperty {
                    iri,
                    description: label.clone(),
                    label,
                    kind: if leads {
                        RelationKind::Relation
                    } else {
                        RelationKind::Attribute
                    },
                    temporality,
                    axioms: Axioms {
                        functional: flags[0],
                        inverse_functional: leads && flags[1],
                        transitive: leads && flags[2],
                        symmetric: leads && flags[3],
                        asymmetric: leads && flags[4],
                        irreflexive: leads && flags[5],
                    },
                    inverse_of,
                    sub_property_of,
                    datatype,
                    unit: (datatype == Some(Datatype::Number)).then(|| "m".to_owned()),
                    domains,
                    ranges: if leads { ranges } else { Vec::new() },
                    same_as: Vec::new(),
                }
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_as_an_export_does_is_read_as_it_was(
        mut classes in prop::collection::vec(a_class(), 0..8),
        mut properties in prop::collection::vec(a_property(), 0..8),
    ) {
        let mut seen = std::collections::HashSet::new();
        classes.retain(|class| seen.insert(class.iri.clone()));
        properties.retain(|property| seen.insert(property.iri.clone()));
        let declared = Declarations { classes, properties, ..Declarations::default() };

        let read = read(written(&declared).as_bytes(), None, &Limits::default());

        prop_assert_eq!(read.unwrap(), declared);
    }

    #[test]
    fn any_bytes_are_read_or_refused_in_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Err(refusal) = read(&bytes, Some("http://example.org/"), &Limits::default()) {
            prop_assert!(!refusal.to_string().is_empty());
        }
    }
}
