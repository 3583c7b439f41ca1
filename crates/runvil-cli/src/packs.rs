//! The Packs that this build has.

use runvil_harness::HostBuilder;
use runvil_pack::{Configuration, PackRegistry, Plugin, Services, shipped::UserInputPlugin};
use runvil_web::WebPlugin;

fn plugins() -> [Box<dyn Plugin>; 2] {
    [
        Box::new(WebPlugin::new(Configuration::new())),
        Box::new(UserInputPlugin),
    ]
}

/// Adds the Packs to a Host.
pub(crate) fn add_to(builder: HostBuilder) -> HostBuilder {
    let plugins = plugins();
    plugins
        .iter()
        .fold(builder, |builder, plugin| builder.plugin(&**plugin))
}

/// The Packs by the names that `uses:` knows them by.
pub(crate) fn names() -> Vec<String> {
    let mut registry = PackRegistry::new();
    for plugin in plugins() {
        // A Pack that the registry refuses, no Host gets either.
        let _ = plugin.add_packs(&mut registry);
    }
    let built = registry.build(&Services::new());
    built.into_iter().map(|built| built.name.id().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packs_are_named_as_a_prompt_uses_them() {
        assert_eq!(names(), ["web", "user-input"]);
    }
}
