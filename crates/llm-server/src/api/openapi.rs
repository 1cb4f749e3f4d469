//! `/openapi.json`, made from the table of paths.

use axum::Json as Reply;
use serde_json::{Map, Value, json};

use super::{Answers, ENDPOINTS, Endpoint, Method};
use crate::error;

/// The schema of errors.
const ERROR: &str = "Error";

/// The document.
pub(crate) async fn document() -> Reply<Value> {
    Reply(build())
}

fn build() -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    schemas.insert(ERROR.to_owned(), error_schema());
    for endpoint in ENDPOINTS {
        let operation = operation(endpoint, &mut schemas);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.name().to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ferrocm",
            "description": "Language models on AMD, NVIDIA and virtual GPUs.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// Either form of an error.
fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "type": { "const": "error" },
            "error": {
                "type": "object",
                "required": ["message", "type"],
                "properties": {
                    "message": { "type": "string" },
                    "type": { "type": "string" },
                    "param": { "type": ["string", "null"] },
                    "code": { "type": ["string", "null"] },
                },
            },
        },
    })
}

fn operation(endpoint: &Endpoint, schemas: &mut Map<String, Value>) -> Value {
    let object = json!({ "schema": { "type": "object" } });
    let content = match endpoint.answers {
        Answers::Json => json!({ "application/json": object }),
        Answers::JsonOrEvents => json!({
            "application/json": object,
            "text/event-stream": { "schema": { "type": "string" } },
        }),
        Answers::Text(kind) => json!({ kind: { "schema": { "type": "string" } } }),
    };
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({ "description": "The answer.", "content": content }));
    for status in error::statuses() {
        let reference = json!({ "$ref": format!("#/components/schemas/{ERROR}") });
        let response = json!({
            "description": "An error.",
            "content": { "application/json": { "schema": reference } },
        });
        responses.insert(status.to_string(), response);
    }
    let id = endpoint.path.trim_matches('/').replace(['/', '-', '.'], "_");
    let mut operation = json!({
        "operationId": if id.is_empty() { "chat_page".to_owned() } else { id },
        "summary": endpoint.summary,
        "responses": responses,
    });
    if !endpoint.is_open {
        operation["security"] = json!([{ "key": [] }]);
    }
    if endpoint.method == Method::Post {
        let mut parts = Vec::new();
        for body in endpoint.body {
            let body = body();
            parts.push(json!({ "$ref": format!("#/components/schemas/{}", body.name) }));
            for (name, schema) in body.all {
                // Schemas of the derive are always JSON.
                schemas.entry(name).or_insert_with(|| serde_json::to_value(schema).unwrap_or_default());
            }
        }
        let schema = if parts.len() == 1 { parts.remove(0) } else { json!({ "allOf": parts }) };
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    operation
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All references of a document.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        let document = build();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50);
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("a reference inside of the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn types_of_one_name_are_one_type() {
        let mut known: Map<String, Value> = Map::new();
        for (name, schema) in ENDPOINTS.iter().flat_map(|endpoint| endpoint.body).flat_map(|body| body().all)
        {
            let schema = serde_json::to_value(schema).unwrap();
            let before = known.entry(name.clone()).or_insert_with(|| schema.clone());
            assert_eq!(*before, schema, "two types have the name {name}");
        }
    }

    #[test]
    fn every_path_has_an_operation_with_a_name_of_its_own() {
        let document = build();
        let paths = document["paths"].as_object().unwrap();
        let mut ids: Vec<&str> = paths
            .values()
            .flat_map(|path| path.as_object().unwrap().values())
            .map(|operation| operation["operationId"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), ENDPOINTS.len());
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ENDPOINTS.len());
    }
}
