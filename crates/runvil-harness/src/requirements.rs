//! The requirements report and the notice that it becomes (book: The requirements notice).

use std::fmt;

use runvil_engine::UnmetRole;
use runvil_pack::PackId;
use serde::{Deserialize, Serialize};

/// What a prompt asks for and the environment lacks. Each gap is listed once, in the order in which it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementsReport {
    /// Declared Pack ids that no vendor's Pack of the Host has.
    pub missing_packs: Vec<PackId>,
    /// Services that declared Packs need and the run lacks.
    pub missing_services: Vec<MissingService>,
    /// Declared Packs that cannot serve the run.
    pub unavailable_packs: Vec<UnavailablePack>,
    /// Role checks that the current model fails.
    pub unmet: Vec<UnmetRole>,
}

/// A service that a declared Pack needs and the run lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingService {
    /// The Pack's id.
    pub pack: PackId,
    /// The service's id.
    pub service: String,
}

impl fmt::Display for MissingService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} needs {}, and the environment provides none",
            self.pack, self.service
        )
    }
}

/// A declared Pack that cannot serve, or whose entry names no Pack of the Host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnavailablePack {
    /// The Pack's id.
    pub pack: PackId,
    /// Why, written for a model.
    pub reason: String,
}

impl fmt::Display for UnavailablePack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is unavailable: {}", self.pack, self.reason)
    }
}

impl RequirementsReport {
    /// Whether nothing keeps the run from starting.
    #[must_use]
    pub fn is_satisfied(&self) -> bool {
        self.missing_packs.is_empty()
            && self.missing_services.is_empty()
            && self.unavailable_packs.is_empty()
            && self.unmet.is_empty()
    }

    /// Takes another report's gaps in. A gap that both name stays one, and a Pack stands under its real cause only.
    pub fn merge(&mut self, other: Self) {
        extend_once(&mut self.missing_packs, other.missing_packs);
        extend_once(&mut self.missing_services, other.missing_services);
        for pack in other.unavailable_packs {
            if !self.unavailable_packs.iter().any(|known| known.pack == pack.pack) {
                self.unavailable_packs.push(pack);
            }
        }
        extend_once(&mut self.unmet, other.unmet);
        let Self {
            missing_packs,
            missing_services,
            unavailable_packs,
            ..
        } = self;
        missing_packs.retain(|id| {
            !missing_services.iter().any(|gap| gap.pack == *id) && !unavailable_packs.iter().any(|gap| gap.pack == *id)
        });
    }
}

fn extend_once<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}

/// The requirements notice.
impl fmt::Display for RequirementsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the environment cannot satisfy this prompt:")?;
        for pack in &self.missing_packs {
            write!(f, "\n- missing required Pack: {pack}")?;
        }
        for gap in &self.missing_services {
            write!(f, "\n- {gap}")?;
        }
        for gap in &self.unavailable_packs {
            write!(f, "\n- {gap}")?;
        }
        for role in &self.unmet {
            write!(f, "\n- {role}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use runvil_engine::RoleCheck;

    use super::*;

    fn id(text: &str) -> PackId {
        text.parse().expect("a Pack id")
    }

    fn service(pack: &str, service: &str) -> RequirementsReport {
        let gap = MissingService {
            pack: id(pack),
            service: service.to_owned(),
        };
        RequirementsReport {
            missing_services: vec![gap],
            ..RequirementsReport::default()
        }
    }

    fn unavailable(pack: &str, reason: &str) -> RequirementsReport {
        let gap = UnavailablePack {
            pack: id(pack),
            reason: reason.to_owned(),
        };
        RequirementsReport {
            unavailable_packs: vec![gap],
            ..RequirementsReport::default()
        }
    }

    fn missing(pack: &str) -> RequirementsReport {
        RequirementsReport {
            missing_packs: vec![id(pack)],
            ..RequirementsReport::default()
        }
    }

    fn unmet(role: &str) -> RequirementsReport {
        let gap = UnmetRole {
            role: role.to_owned(),
            check: RoleCheck::ContextMinimum,
            required: "9".to_owned(),
            actual: "8".to_owned(),
        };
        RequirementsReport {
            unmet: vec![gap],
            ..RequirementsReport::default()
        }
    }

    fn merged(reports: impl IntoIterator<Item = RequirementsReport>) -> RequirementsReport {
        let mut all = RequirementsReport::default();
        for report in reports {
            all.merge(report);
        }
        all
    }

    #[test]
    fn the_notice_groups_gaps_by_kind_and_keeps_the_order_in_which_they_were_found() {
        let gaps = [
            unmet("b"),
            unavailable("z", "torn"),
            service("y", "s/2"),
            service("y", "s/1"),
            missing("x"),
            missing("a"),
        ];
        assert_eq!(
            merged(gaps).to_string(),
            "the environment cannot satisfy this prompt:\n\
             - missing required Pack: x\n\
             - missing required Pack: a\n\
             - y needs s/2, and the environment provides none\n\
             - y needs s/1, and the environment provides none\n\
             - z is unavailable: torn\n\
             - role 'b': requires a context of at least 9 tokens; the current model provides 8"
        );
    }

    #[test]
    fn a_gap_that_two_reports_name_stays_one() {
        let twice = [missing("x"), service("y", "s/1"), unavailable("z", "torn"), unmet("b")];
        assert_eq!(merged(twice.clone().into_iter().chain(twice.clone())), merged(twice));
        assert_eq!(
            merged([unavailable("z", "torn"), unavailable("z", "worn")]),
            unavailable("z", "torn")
        );
    }

    #[test]
    fn a_pack_stands_under_its_real_cause_only_whichever_check_finds_it_first() {
        for cause in [service("y", "s/1"), unavailable("y", "torn")] {
            assert_eq!(merged([missing("y"), cause.clone()]), cause);
            assert_eq!(merged([cause.clone(), missing("y")]), cause);
        }
    }

    #[test]
    fn only_a_report_without_gaps_is_satisfied() {
        assert!(RequirementsReport::default().is_satisfied());
        for gap in [missing("x"), service("y", "s/1"), unavailable("z", "torn"), unmet("b")] {
            assert!(!gap.is_satisfied());
        }
    }
}
